"use strict";
// Fetches the page anew when something has changed, at most every other second
// and not while it is hidden; goes through time without loading the page; tells
// what is under the pointer; keys in the chart.
(() => {
  const $ = (s, of = document) => of.querySelector(s), all = (s, of = document) => [...of.querySelectorAll(s)];
  const live = $("#live"), pause = 2000;
  let due = false, busy = false, chosen = -1, asked = 0;

  function status(text, ok) { $("#state").textContent = text; live.classList.toggle("off", !ok); }

  // show puts another rendering of the page in place of this one; what had the
  // focus, was scrolled to, opened or chosen stays so.
  function show(text) {
    const next = new DOMParser().parseFromString(text, "text/html");
    const held = document.activeElement, key = held && (held.id ? "#" + held.id : held.dataset.key ? `[data-key="${held.dataset.key}"]` : held.className === "plot" ? ".plot" : held.getAttribute("href") && `a[href="${CSS.escape(held.getAttribute("href"))}"]`);
    const open = all("details[open]>summary").map(e => e.dataset.key);
    const scrolled = all(".rows,.queue ol,.wide").map(e => e.scrollTop);
    $("#main").replaceChildren(...document.importNode($("#main", next), true).childNodes);
    $("#now").textContent = $("#now", next).textContent;
    $(".who").replaceChildren(...document.importNode($(".who", next), true).childNodes);
    document.title = next.title;
    all("details>summary").forEach(e => { e.parentElement.open = open.includes(e.dataset.key); });
    all(".rows,.queue ol,.wide").forEach((e, i) => { e.scrollTop = scrolled[i] || 0; });
    if (key && $(key)) $(key).focus({preventScroll: true});
    choose(chosen, false);
    status($("#state", next).textContent, true);
  }
  async function load(url) {
    const mine = ++asked;
    const r = await fetch(url, {headers: {Accept: "text/html"}});
    if (r.status === 401) location.reload(); // who signed in is not any more: the page says how to
    if (!r.ok) throw new Error(r.statusText);
    const text = await r.text();
    if (mine === asked) show(text); // else another was asked for meanwhile
  }
  async function renew() {
    if (busy || document.hidden) { due = true; return; }
    busy = true; due = false;
    try { await load(location.href); } catch { status("the scheduler does not answer", false); }
    setTimeout(() => { busy = false; if (due) renew(); }, pause);
  }
  async function go(url) {
    history.pushState(null, "", url);
    chosen = -1;
    try { await load(url); } catch { location.href = url; }
  }
  addEventListener("popstate", () => load(location.href).catch(() => location.reload()));

  (function listen() {
    const events = new EventSource("/v1/events");
    events.addEventListener("log", renew);
    events.addEventListener("open", () => status("live", true));
    events.addEventListener("error", () => {
      status("not connected; trying again", false);
      if (events.readyState === EventSource.CLOSED) setTimeout(listen, 5000); // it was answered, and not let in: the browser gives up
    });
  })();
  document.addEventListener("visibilitychange", () => { if (!document.hidden && due) renew(); });
  setInterval(renew, 15000);

  document.addEventListener("click", e => {
    const a = e.target.closest("main a");
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey || e.button || a.origin !== location.origin || a.pathname !== "/") return;
    e.preventDefault();
    go(a.href);
  });

  // Travels: the slider says how many minutes back.
  function back(v) { const q = new URLSearchParams(location.search); q.delete("from"); v < 0 ? q.set("at", $("#back").dataset.now - -60 * v) : q.delete("at"); return "/?" + q; }
  document.addEventListener("input", e => {
    if (e.target.id !== "back") return;
    const at = new Date(1000 * ($("#back").dataset.now - -60 * e.target.value));
    $("#seen").textContent = +e.target.value ? "as of " + at.toISOString().slice(11, 16) : "now";
  });
  document.addEventListener("change", e => { if (e.target.id === "back") go(back(+e.target.value)); });
  document.addEventListener("submit", e => {
    e.preventDefault();
    if (e.target.className !== "find") return;
    const q = new URLSearchParams(location.search), v = $("#find").value.trim();
    q.delete("page"); v ? q.set("find", v) : q.delete("find");
    go("/?" + q);
  });

  // Under the pointer, or chosen by keys.
  const clock = s => new Date(1000 * s).toISOString().slice(11, 16);
  const percent = v => (v / 10).toFixed(v % 10 ? 1 : 0) + " %";
  function told(line, share) {
    const plot = $(".plot"), at = +plot.dataset.from + share * plot.dataset.span;
    if (!line.dataset.points) return clock(at);
    const list = line.dataset.points.split(";"), cell = list[Math.min(list.length - 1, Math.floor(share * list.length))];
    const head = `${line.dataset.name}, ${clock(at)}`;
    if (!cell) return head + "\nnothing known";
    const [local, guests, free, chance] = cell.split(",").map(Number);
    return head + (chance === undefined ? `\nlocal jobs ${percent(local)}\nguests ${percent(guests)}\nidle ${percent(Math.max(0, 1000 - local - guests))}`
      : `\nforeseen: local ${percent(local)}\nbooked ${percent(guests)}\nfree ${percent(free)}, ${chance} % sure`);
  }
  function tip(text, x, y) {
    const t = $("#tip"), plot = $(".plot");
    t.textContent = text; t.hidden = false;
    t.style.left = Math.max(0, Math.min(x + 12, plot.clientWidth - t.offsetWidth - 4)) + "px";
    t.style.top = y + 14 + "px";
  }
  function away() { if ($("#tip")) $("#tip").hidden = $("#cross").hidden = true; }
  document.addEventListener("pointermove", e => {
    const svg = e.target.closest && e.target.closest(".line:not(.axis) svg");
    if (!svg) return away();
    const plot = $(".plot"), box = svg.getBoundingClientRect(), of = plot.getBoundingClientRect(), bar = e.target.closest("rect[data-t]");
    const x = e.clientX - of.left;
    $("#cross").hidden = false; $("#cross").style.left = x + "px";
    tip(bar ? bar.dataset.t : told(svg.parentElement, (e.clientX - box.left) / box.width), x, e.clientY - of.top);
  });

  const lines = () => all(".plot .band, .plot .row");
  function choose(i, tell = true) {
    const list = lines();
    list.forEach(l => l.classList.remove("on"));
    chosen = Math.min(i, list.length - 1);
    if (chosen < 0) return;
    const line = list[chosen], plot = $(".plot"), box = line.getBoundingClientRect(), of = plot.getBoundingClientRect();
    line.classList.add("on");
    if (!tell) return;
    line.scrollIntoView({block: "nearest"});
    const bars = all("rect[data-t]", line).map(b => b.dataset.t);
    const mark = $(".axis .mark"), share = mark ? parseFloat(mark.getAttribute("x")) / 100 : 0;
    tip(line.dataset.points ? told(line, Math.min(.999, share + .002)) : $(".label", line).textContent + "\n" + (bars.slice(0, 12).join("\n") || "nothing"), 140, line.getBoundingClientRect().bottom - of.top - 10);
  }
  document.addEventListener("keydown", e => {
    const at = e.target.closest && e.target.closest(".plot");
    if (!at || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") choose(Math.max(0, chosen + (e.key === "ArrowDown" ? 1 : -1)));
    else if (e.key === "Enter" && chosen >= 0 && $("a.label", lines()[chosen])) go($("a.label", lines()[chosen]).href);
    else if ($(`a[data-key="${CSS.escape(e.key === "=" ? "+" : e.key)}"]`)) go($(`a[data-key="${CSS.escape(e.key === "=" ? "+" : e.key)}"]`).href);
    else return;
    e.preventDefault();
  });
})();
