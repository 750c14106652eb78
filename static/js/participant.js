/* The trial page's comfort. Everything works without it; nothing here knows more than the server. */
"use strict";

(() => {
  /* Texts come with the page, in its language. */
  const texts = document.getElementById("main").dataset;
  const DOUBLE_CLICK_MS = 500;

  const region = () => document.getElementById("run");
  const inRegion = (selector) => region()?.querySelector(selector) ?? null;
  const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  /* --- The browser's clock ------------------------------------------------------------------
     Milliseconds since the trial was first displayed, by a clock that never runs backwards. Only a
     trial that began in this very page has one: after a reload the beginning is not known here,
     and nothing is sent (the server keeps its own times). */
  let shownAt = null;

  const clientMs = () => (shownAt === null ? null : Math.round(performance.now() - shownAt));

  /* --- Hidden and visible -------------------------------------------------------------------- */
  const tellSeen = (kind) => {
    const url = region()?.dataset.seen;
    if (!url) return;
    const data = new URLSearchParams({ kind });
    if (clientMs() !== null) data.set("client_ms", clientMs());
    if (!navigator.sendBeacon?.(url, data)) {
      fetch(url, { method: "POST", body: data, keepalive: true }).catch(() => {});
    }
  };

  document.addEventListener("visibilitychange", () => {
    tellSeen(document.visibilityState === "hidden" ? "page_hidden" : "page_visible");
  });

  /* A page taken out of the browser's memory may be older than what is stored. */
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });

  /* --- One press, one action ----------------------------------------------------------------- */
  let lastClickAt = -DOUBLE_CLICK_MS;

  document.addEventListener(
    "click",
    (event) => {
      const button = event.target.closest?.("#run button[type=submit]");
      if (!button) return;
      const isDouble = event.detail > 1 && event.timeStamp - lastClickAt < DOUBLE_CLICK_MS;
      lastClickAt = event.timeStamp;
      if (isDouble) event.preventDefault();
    },
    true,
  );

  /* A key held down is one press as well; in a text it makes empty lines. */
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.tagName === "TEXTAREA";
    if (event.repeat && event.key === "Enter" && !isTyping && event.target.closest?.("#run form")) {
      event.preventDefault();
    }
  });

  /* --- The decision -------------------------------------------------------------------------- */
  const showChoice = () => {
    const chosen = inRegion("#decide .choices input:checked");
    const button = inRegion("#decide .confirm button");
    if (!button) return;
    const answer = chosen?.parentElement.textContent;
    button.textContent = chosen ? texts.confirm.replace("{answer}", () => answer) : texts.submit;
  };

  document.addEventListener("change", (event) => {
    if (event.target.closest?.("#decide")) showChoice();
  });

  /* --- Requests ------------------------------------------------------------------------------ */
  let focusedForm = null;

  const say = (text) => {
    const line = inRegion(".unsaved");
    if (line) line.textContent = text;
  };

  document.addEventListener("htmx:configRequest", (event) => {
    const elapsed = clientMs();
    if (elapsed !== null) event.detail.parameters.client_ms = String(elapsed);
  });

  document.addEventListener("htmx:beforeRequest", () => {
    say("");
    /* Buttons are disabled while waiting, which takes the focus off them. */
    focusedForm = document.activeElement?.closest?.("#run form")?.parentElement ?? null;
  });

  for (const failure of ["htmx:sendError", "htmx:timeout", "htmx:responseError", "htmx:swapError"]) {
    document.addEventListener(failure, () => say(texts.unsaved));
  }

  /* An answer to a rank that is already on the page (a retry that crossed with the first answer)
     must not be added twice. */
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target, requestConfig } = event.detail;
    const next = inRegion("#shown input[name=rank]");
    if (target?.id !== "shown" && target?.id !== "reveal") return;
    if (next && requestConfig.parameters.rank !== next.value) event.detail.shouldSwap = false;
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const returnFocus = () => {
      const nothingFocused = !document.activeElement || document.activeElement === document.body;
      if (!focusedForm || !nothingFocused) return;
      const wanted = focusedForm.isConnected
        ? focusedForm.querySelector("button, .all-shown")
        : inRegion("#reveal button, #reveal .all-shown");
      wanted?.focus({ preventScroll: true });
    };
    /* After htmx has enabled the buttons again. */
    if (event.detail.target?.id !== "run") requestAnimationFrame(returnFocus);
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "run") showRegion(true);
  });

  document.addEventListener("htmx:oobAfterSwap", () => {
    const newest = inRegion("#sentences > :last-child");
    newest?.scrollIntoView({ block: "nearest", behavior: reducedMotion() ? "auto" : "smooth" });
  });

  /* --- Layout: what sticks must not cover what is focused or new ------------------------------ */
  const measure = () => {
    const claim = inRegion(".claim");
    const decide = inRegion(".decide");
    if (!claim || !decide) return;
    const style = document.documentElement.style;
    const sticks = (element) => getComputedStyle(element).position === "sticky";
    style.scrollPaddingTop = sticks(claim) ? `${claim.offsetHeight + 8}px` : "";
    /* Room for the button below the newest sentence as well. */
    style.scrollPaddingBottom = sticks(decide) ? `${decide.offsetHeight + 80}px` : "";
  };

  const shrinkLongClaim = () => {
    const claim = inRegion(".claim");
    if (!claim || claim.querySelector(".expander")) return;
    if (claim.offsetHeight <= innerHeight / 3) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "expander";
    const show = (isOpen) => {
      claim.classList.toggle("open", isOpen);
      button.setAttribute("aria-expanded", String(isOpen));
      button.textContent = isOpen ? texts.less : texts.more;
      measure();
    };
    button.addEventListener("click", () => show(!claim.classList.contains("open")));
    claim.classList.add("long");
    claim.append(button);
    show(false);
  };

  const sizes = new ResizeObserver(measure);

  /* A region that has just appeared: a new trial, or another page of the run. */
  const showRegion = (isSwapped) => {
    shownAt = isSwapped && inRegion("#decide") ? performance.now() : null;
    showChoice();
    shrinkLongClaim();
    sizes.disconnect();
    for (const part of document.querySelectorAll(".claim, .decide")) sizes.observe(part);
    measure();
    if (isSwapped) {
      scrollTo(0, 0);
      inRegion("h1")?.focus({ preventScroll: true });
    }
  };

  window.addEventListener("resize", shrinkLongClaim);
  document.documentElement.classList.add("scripted");
  showRegion(false);
  /* This page may have been hidden when it was left; the server ignores a visible one too many. */
  if (document.visibilityState === "visible") tellSeen("page_visible");
})();
