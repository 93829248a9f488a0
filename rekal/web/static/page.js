// Keys, copying and plots. Every page reads and works without it: links are links, and forms are forms.
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")];
  let here = -1;

  function move(step) {
    const all = rows();
    if (!all.length) return;
    const focused = all.indexOf(document.activeElement?.closest?.("[data-row]"));
    here = Math.max(0, Math.min(all.length - 1, (focused >= 0 ? focused : here) + step));
    all.forEach((row, at) => row.classList.toggle("here", at === here));
    const row = all[here];
    row.setAttribute("tabindex", "-1");
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  // A key of the page: the element that carries it is pressed, in the row at hand if there is one there.
  function press(key) {
    const row = document.activeElement?.closest?.("[data-row]") ?? rows()[Math.max(0, here)];
    const wanted = `[data-key="${CSS.escape(key)}"]`;
    const found = row?.querySelector(wanted) ?? document.querySelector(wanted);
    if (!found) return false;
    if (found.matches("input, textarea, select")) found.focus(); else found.click();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (target.closest?.("input, textarea, select, [contenteditable]")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const dialog = document.getElementById("keys");
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "/") document.getElementById("find")?.focus();
    else if (event.key === "?") dialog?.open ? dialog.close() : dialog?.showModal();
    else if (event.key === "Enter" && target.matches?.("[data-row]")) target.querySelector("a")?.click();
    else if (event.key.length !== 1 || !press(event.key)) return;
    event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (button) {
      const text = document.getElementById(button.dataset.copy)?.textContent ?? "";
      navigator.clipboard?.writeText(text).then(() => { button.textContent = "copied"; });
    }
    if (event.target.closest?.("[data-keys]")) document.getElementById("keys")?.showModal();
    if (event.target.closest?.("[data-close]")) document.getElementById("keys")?.close();
  });

  // The plots of the server are drawings; where there is a script they can be read off, too.
  function draw(figure) {
    if (!window.uPlot || figure.querySelector(".uplot") || !figure.dataset.days) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const days = figure.dataset.days.split(",");
    const names = figure.dataset.names.split(",");
    const series = figure.dataset.values.split(";").map((column) => column.split(",").map(Number));
    // Stacked, as the drawing is: each column stands on the ones after it.
    const stacked = series.map((_, at) => days.map((_, day) => series.slice(at).reduce((sum, column) => sum + column[day], 0)));
    const inks = ["--accent", "--warn"];
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
    const reading = document.createElement("p");
    reading.className = "reading small dim";
    const whole = (_, values) => values.map((value) => (Number.isInteger(value) ? value.toLocaleString("en") : ""));
    const drawing = figure.querySelector("svg");
    const at = days.map((day) => Date.parse(day) / 1000);
    // One day alone has no width of its own: a week at least.
    const [first, last] = [at[0] - 86400, Math.max(at[at.length - 1], at[0] + 6 * 86400) + 86400];
    new window.uPlot({
      width: figure.clientWidth, height: Math.max(150, Math.round(figure.clientWidth / 6)), legend: { show: false }, padding: [null, 40, null, null],
      series: [{}, ...names.map((name, at) => ({
        label: name, stroke: colour(inks[at]), fill: colour(inks[at]), points: { show: false },
        paths: window.uPlot.paths.bars({ size: [0.8, 24] }),
      }))],
      axes: [{ ...axis, incrs: [1, 2, 7, 14, 28, 91, 182, 364].map((count) => count * 86400), space: 80, values: (_, values) => values.map((value) => new Date(value * 1000).toISOString().slice(0, 10)) }, { ...axis, size: 56, values: whole }],
      scales: { x: { time: true, range: () => [first, last] }, y: { range: (_, low, high) => [0, Math.max(1, high)] } }, tzDate: (at) => window.uPlot.tzDate(new Date(at * 1000), "UTC"),
      cursor: { drag: { x: false, y: false } },
      hooks: { setCursor: [(plot) => {
        const at = plot.cursor.idx;
        reading.textContent = at == null ? "" : `${days[at]}: ${names.map((name, n) => `${series[n][at].toLocaleString("en")} ${name}`).join(", ")}`;
      }] },
    }, [at, ...stacked], figure);
    figure.append(reading);
    drawing?.remove();
  }
  // On a phone the menu is wider than the page.
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector(".menu [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  });

  const plot = () => document.querySelectorAll("[data-days]").forEach(draw);
  document.addEventListener("DOMContentLoaded", plot);
  document.addEventListener("htmx:after:swap", plot);
})();
