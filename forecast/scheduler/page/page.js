"use strict";
// Fetches the page anew when something has changed: at most once a second, and
// not while it is hidden.
(() => {
  const live = document.getElementById("live");
  let due = false, busy = false;
  async function renew() {
    if (busy || document.hidden) { due = true; return; }
    busy = true; due = false;
    try {
      const r = await fetch(location.href, {headers: {Accept: "text/html"}});
      if (r.ok) {
        const next = new DOMParser().parseFromString(await r.text(), "text/html");
        const main = document.getElementById("main"), held = document.activeElement && document.activeElement.getAttribute("href");
        main.replaceChildren(...document.importNode(next.getElementById("main"), true).childNodes);
        live.textContent = next.getElementById("live").textContent;
        if (held) { const a = [...document.querySelectorAll("a")].find(a => a.getAttribute("href") === held); if (a) a.focus(); }
      }
    } catch { live.textContent = "the scheduler does not answer"; }
    setTimeout(() => { busy = false; if (due) renew(); }, 1000);
  }
  const events = new EventSource("/v1/events");
  events.addEventListener("log", renew);
  events.addEventListener("error", () => { live.textContent = "not connected; trying again"; });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && due) renew(); });
  setInterval(renew, 15000);
})();
