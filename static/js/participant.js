/* The trial page's comfort. Everything works without it; nothing here knows more than the server. */
"use strict";

(() => {
  /* Texts come with the page, in its language. */
  const texts = document.getElementById("main").dataset;

  const DOUBLE_CLICK_MS = 500;
  /* How long to wait for an answer, and how long before each new try; the last pause repeats. */
  const TIMEOUT_MS = 20_000;
  const PAUSES_MS = [1000, 2000, 4000, 8000, 15_000];
  /* No answer at all, and what a proxy or a database that is away for a while answers. */
  const PASSING = [0, 502, 503, 504];

  const region = () => document.getElementById("run");
  const inRegion = (selector) => region()?.querySelector(selector) ?? null;
  const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  /* --- The browser's clock ------------------------------------------------------------------
     Milliseconds since the trial was first displayed, by a clock that never runs backwards. Only a
     trial that began in this very page has one: after a reload the beginning is not known here,
     and nothing is sent (the server keeps its own times). */
  let shownAt = null;

  const clientMs = () => (shownAt === null ? null : Math.round(performance.now() - shownAt));

  /* --- Hidden and visible --------------------------------------------------------------------
     What cannot be told now is kept in this page's memory, in order, and told with its delay as
     soon as there is a network again: {url, kind, clock, at}. */
  const untold = [];
  let telling = null;
  /* A delay of a request's usual time says nothing. */
  const LATE_MS = 1000;

  const seenData = ({ kind, clock, at }) => {
    const data = new URLSearchParams({ kind });
    if (clock !== null) data.set("client_ms", clock);
    const late = Math.round(performance.now() - at);
    if (late > LATE_MS) data.set("late_ms", late);
    return data;
  };

  const sendSeen = async (news) => {
    const signal = AbortSignal.timeout?.(TIMEOUT_MS);
    const options = { method: "POST", body: seenData(news), keepalive: true, signal };
    const answer = await fetch(news.url, options);
    if (PASSING.includes(answer.status)) throw new Error(answer.statusText);
  };

  const tellUntold = async () => {
    try {
      while (untold.length > 0 && navigator.onLine) {
        const [news] = untold;
        await sendSeen(news);
        untold.splice(untold.indexOf(news), 1);
      }
    } catch {
      /* It stays untold until the next occasion. */
    }
  };

  const tell = () => {
    if (!telling && untold.length > 0) {
      telling = tellUntold().finally(() => {
        telling = null;
      });
    }
    return telling;
  };

  const keepUntold = (news) => {
    untold.push(news);
    untold.sort((one, other) => one.at - other.at);
  };

  const tellSeen = (kind) => {
    const url = region()?.dataset.seen;
    if (!url) return;
    const news = { url, kind, clock: clientMs(), at: performance.now() };
    if (untold.length > 0 || !navigator.onLine) {
      keepUntold(news);
      tell();
    } else {
      /* At once, because this page may be about to be closed. */
      sendSeen(news).catch(() => keepUntold(news));
    }
  };

  window.addEventListener("online", tell);

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

  /* --- What was left out: said beside it and in the page's language, not by the browser -------- */
  const describe = (field, fault) => {
    const ids = (field.getAttribute("aria-describedby") ?? "").split(" ");
    const others = ids.filter((id) => id && id !== fault.id);
    const all = fault.textContent ? [...others, fault.id] : others;
    if (all.length > 0) field.setAttribute("aria-describedby", all.join(" "));
    else field.removeAttribute("aria-describedby");
    if (field.type === "radio") return;
    if (fault.textContent) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  };

  const sayFault = (part, text) => {
    const fault = part.querySelector(".fault");
    if (!fault) return;
    fault.textContent = text;
    for (const field of part.querySelectorAll("input, textarea")) describe(field, fault);
  };

  document.addEventListener(
    "submit",
    (event) => {
      /* What is sent again was complete. */
      if ((unsaved && unsaved.state !== "failed") || !event.target.noValidate) return;
      const parts = [...event.target.querySelectorAll("[data-missing]")];
      const missing = parts.filter((part) => part.querySelector(":invalid"));
      for (const part of missing) sayFault(part, part.dataset.missing);
      if (missing.length === 0) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      missing[0].querySelector(":invalid").focus();
      missing[0].scrollIntoView({ block: "nearest" });
    },
    true,
  );

  for (const change of ["input", "change"]) {
    document.addEventListener(change, (event) => {
      const part = event.target.closest("[data-missing]");
      if (part && !part.querySelector(":invalid")) sayFault(part, "");
    });
  }

  /* --- Copying an address -------------------------------------------------------------------- */
  const copy = async (button) => {
    const field = button.parentElement.querySelector("input");
    const label = button.textContent;
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      button.textContent = texts.copied;
    } catch {
      button.textContent = texts.uncopied;
    }
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[data-copy]");
    if (button) copy(button);
  });

  /* The clipboard needs a secure address. */
  const showCopyButtons = () => {
    if (!navigator.clipboard) return;
    for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
  };

  /* --- Requests ------------------------------------------------------------------------------
     What was sent stays here until the server has answered it: {form, sent, state, nFailed, timer,
     held, line, cause}. Its state is "sending", "waiting" (for the next try) or "failed" (for a press).
     A lost answer is asked for again with the same values, which the server stores once. */
  let unsaved = null;
  let focusedForm = null;

  const nothingFocused = () => !document.activeElement || document.activeElement === document.body;

  const askBeforeLeaving = (event) => {
    event.preventDefault();
    event.returnValue = true;
  };

  /* Every answer of the study names its place; a proxy's or a hotspot's own page does not. */
  const isFromStudy = (xhr) =>
    ["HX-Retarget", "HX-Redirect"].some((name) => xhr.getResponseHeader(name) !== null);

  /* While a try is due nothing else is sent, and what was sent cannot be changed. */
  const hold = () => {
    const fields = unsaved.form.querySelectorAll("input, textarea");
    for (const element of [...fields, ...region().querySelectorAll("button[type=submit]")]) {
      element.disabled = true;
      unsaved.held.add(element);
    }
  };

  const release = () => {
    for (const element of unsaved.held) element.disabled = false;
    unsaved.held.clear();
  };

  /* Beside what was pressed, and moved into view. */
  const say = (...parts) => {
    unsaved.line = unsaved.form.querySelector(".unsaved") ?? inRegion(".unsaved");
    unsaved.line?.replaceChildren(...parts);
    unsaved.line?.scrollIntoView({ block: "nearest" });
  };

  const sayTrying = () => {
    const cause = navigator.onLine ? texts.trying : texts.offline;
    /* Said once, not at each try, unless there is another cause. */
    if (unsaved.cause === cause) return;
    unsaved.cause = cause;
    const button = unsaved.line?.querySelector("button");
    if (button) return button.previousSibling.replaceWith(`${cause} `);
    say(`${cause} `, tryButton());
  };

  const tryButton = () => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = texts.again;
    button.addEventListener("click", tryNow);
    return button;
  };

  const tryNow = async () => {
    if (unsaved?.state !== "waiting") return;
    clearTimeout(unsaved.timer);
    unsaved.state = "sending";
    const { form } = unsaved;
    /* What happened before comes before. */
    if (untold.length > 0) await tell();
    htmx.trigger(form, "submit");
  };

  const tryLater = () => {
    const pause = PAUSES_MS[Math.min(unsaved.nFailed, PAUSES_MS.length - 1)];
    unsaved.nFailed += 1;
    unsaved.state = "waiting";
    unsaved.timer = setTimeout(tryNow, pause);
    hold();
    sayTrying();
    returnFocus(unsaved.line?.querySelector("button"));
  };

  /* Another try would be answered the same way: the participant decides when. */
  const giveUp = () => {
    release();
    unsaved.state = "failed";
    say(texts.failed);
    returnFocus(unsaved.form.querySelector("button[type=submit]"));
  };

  const settle = () => {
    if (!unsaved) return;
    release();
    unsaved.line?.replaceChildren();
    unsaved = null;
    window.removeEventListener("beforeunload", askBeforeLeaving);
  };

  /* Buttons are disabled while waiting, which takes the focus off them. After htmx has enabled
     them again, and the browser has noticed what is disabled. */
  const returnFocus = (wanted) => {
    if (!focusedForm || !wanted) return;
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (nothingFocused()) wanted.focus({ preventScroll: true });
      }),
    );
  };

  window.addEventListener("online", tryNow);
  document.addEventListener("visibilitychange", () => {
    /* Timers rest in a page that is not seen. */
    if (document.visibilityState === "visible") tryNow();
  });

  const repeatWhatWasSent = (values) => {
    for (const name of [...values.keys()]) values.delete(name);
    for (const [name, value] of unsaved.sent) values.append(name, value);
  };

  document.addEventListener("htmx:configRequest", (event) => {
    const { elt, formData } = event.detail;
    event.detail.timeout = TIMEOUT_MS;
    if (unsaved?.state === "waiting") return event.preventDefault();
    const isRetry = unsaved?.state === "sending" && unsaved.form === elt;
    if (isRetry) repeatWhatWasSent(formData);
    /* A decision was made when it was pressed first; a sentence is seen when it comes. */
    const isNow = !isRetry || formData.has("rank");
    if (isNow && clientMs() !== null) formData.set("client_ms", String(clientMs()));
  });

  document.addEventListener("htmx:beforeRequest", () => {
    if (unsaved?.state === "sending") return;
    for (const line of region().querySelectorAll(".unsaved")) line.replaceChildren();
    focusedForm = document.activeElement?.closest?.("#run form")?.parentElement ?? null;
  });

  document.addEventListener("htmx:beforeSend", (event) => {
    const { elt, requestConfig } = event.detail;
    if (unsaved?.state === "sending") {
      /* The one button that stays on, so that it keeps the focus. */
      const button = unsaved.line?.querySelector("button");
      if (button) button.disabled = false;
      return;
    }
    const sent = [...requestConfig.formData];
    unsaved = { form: elt, sent, state: "sending", nFailed: 0, held: new Set() };
    window.addEventListener("beforeunload", askBeforeLeaving);
  });

  /* An answer that leads to another page: nothing is unsaved any more when this one is left. */
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (event.detail.xhr.getResponseHeader("HX-Redirect") !== null) settle();
  });

  /* Stored, but it could not be shown: the page itself can. */
  for (const failure of ["htmx:swapError", "htmx:onLoadError"]) {
    document.addEventListener(failure, () => {
      settle();
      location.reload();
    });
  }

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target, requestConfig, xhr } = event.detail;
    event.detail.shouldSwap = isFromStudy(xhr) && !PASSING.includes(xhr.status);
    event.detail.isError = !event.detail.shouldSwap;
    /* An answer to a rank that is already on the page (a retry that crossed with the first answer)
       must not be added twice. */
    const next = inRegion("#shown input[name=rank]");
    if (target?.id !== "shown" && target?.id !== "reveal") return;
    const rank = requestConfig.parameters.get("rank");
    if (next && rank !== next.value) event.detail.shouldSwap = false;
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    if (!unsaved) return;
    const { target, xhr } = event.detail;
    if (PASSING.includes(xhr.status)) return tryLater();
    if (!isFromStudy(xhr)) return giveUp();
    settle();
    tell();
    if (target?.id === "run") return;
    const form = focusedForm?.isConnected ? focusedForm : inRegion("#reveal");
    returnFocus(form?.querySelector("button, .all-shown"));
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
    showCopyButtons();
    shrinkLongClaim();
    sizes.disconnect();
    for (const part of document.querySelectorAll(".claim, .decide")) sizes.observe(part);
    measure();
    if (isSwapped) {
      scrollTo(0, 0);
      inRegion("h1")?.focus({ preventScroll: true });
    }
  };

  /* htmx notes the address, which is the key to a run: nothing of a run stays in the browser. */
  try {
    sessionStorage.removeItem("htmx-current-path-for-history");
  } catch {
    /* A frame without storage: nothing was noted. */
  }

  window.addEventListener("resize", shrinkLongClaim);
  document.documentElement.classList.add("scripted");
  showRegion(false);
  /* This page may have been hidden when it was left; the server ignores a visible one too many. */
  if (document.visibilityState === "visible") tellSeen("page_visible");
})();
