// Researcher pages work without this file; it adds copying and opens the card an address names.
"use strict";

// Copy buttons are hidden until they can work: the clipboard needs a secure address.
function showCopyButtons(root) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("button[data-copy]")) button.hidden = false;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy by hand";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
});

// A pressed button may be gone from the fragment that answers it: focus then goes to the fragment,
// not back to the top of the page.
let heldFocus = false;

document.addEventListener("htmx:beforeRequest", (event) => {
  heldFocus = event.detail.target.contains(document.activeElement);
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (!heldFocus || document.activeElement !== document.body) return;
  document.getElementById(event.detail.target.id)?.focus({ preventScroll: true });
});

// A link to a card should show what is in it, also when the card is folded.
function openNamedCard() {
  const card = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (card instanceof HTMLDetailsElement) card.open = true;
}

addEventListener("hashchange", openNamedCard);
openNamedCard();
showCopyButtons(document);
