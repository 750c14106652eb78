// The set-up pages work without this file. It says at once that a file is too large, before the
// browser has sent it, and brings the step one is at into view on a narrow screen.
"use strict";

document.addEventListener("change", (event) => {
  const input = event.target.closest("input[type=file][data-limit-mb]");
  if (!input) return;
  const form = input.form;
  const limit = Number(input.dataset.limitMb) * 1e6;
  const isTooLarge = [...input.files].some((file) => file.size > limit);
  const words = form.querySelector("[data-too-large]");
  if (words) words.hidden = !isTooLarge;
  for (const button of form.querySelectorAll("button")) button.disabled = isTooLarge;
});

const current = document.querySelector(".setup-steps [aria-current]");
if (current && current.offsetLeft > innerWidth / 2) {
  current.closest("nav").scrollLeft = current.offsetLeft - innerWidth / 4;
}
