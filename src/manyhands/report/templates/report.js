"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  // Names are data: every text goes through textContent.
  const element = (tag, text, properties = {}) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
    return made;
  };

  // Charts are drawn when they come near, so that a large page is there at once.
  const draw = (figure) => {
    const spec = data.charts[figure.dataset.chart];
    if (!spec || figure.dataset.drawn) return;
    figure.dataset.drawn = "yes";
    const place = element("div");
    figure.setAttribute("aria-label", spec.description);
    figure.append(place);
    window.drawChart(place, spec).catch(() => { figure.hidden = true; });
  };
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, {rootMargin: "600px"});
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  for (const figure of figures) {
    if (!data.charts[figure.dataset.chart]) continue;
    figure.hidden = false;
    near.observe(figure);
  }
  window.addEventListener("beforeprint", () => {
    figures.forEach((figure) => { if (!figure.hidden) draw(figure); });
    for (const each of document.querySelectorAll("details")) each.open = true;
  });

  // Tables sort by the buttons in their headings.
  const keyOf = (row, column, type) => {
    const cell = row.cells[column];
    const value = cell.dataset.value ?? cell.textContent.trim();
    return type === "number" || cell.dataset.value !== undefined ? Number(value) : value;
  };
  const sort = (table, heading) => {
    const column = heading.cellIndex;
    const falling = heading.getAttribute("aria-sort") === "ascending";
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [keyOf(row, column, heading.dataset.type), row]);
    const sign = falling ? -1 : 1;
    rows.sort(([one], [two]) => sign * (typeof one === "number" ? one - two
      : String(one).localeCompare(String(two), undefined, {numeric: true})));
    body.append(...rows.map(([, row]) => row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const heading of table.tHead.rows[0].cells) {
      const button = element("button", heading.textContent, {type: "button"});
      heading.replaceChildren(button);
      button.addEventListener("click", () => sort(table, heading));
    }
  }

  // The table of annotators filters by name and flag.
  const table = document.getElementById("annotator-table");
  const rows = table ? [...table.tBodies[0].rows] : [];
  const nameOf = (row) => row.querySelector("bdi").textContent;
  const byName = document.getElementById("filter-name");
  const byFlag = document.getElementById("filter-flag");
  const matches = (flags, wanted) => wanted === "" || (wanted === "none" ? flags.length === 0
    : wanted === "any" ? flags.length > 0 : flags.includes(wanted));
  const filter = () => {
    const text = byName.value.trim().toLowerCase();
    let n = 0;
    for (const row of rows) {
      const flags = row.dataset.flags.split(" ").filter(Boolean);
      const kept = nameOf(row).toLowerCase().includes(text)
        && matches(flags, byFlag.value);
      row.hidden = !kept;
      n += kept ? 1 : 0;
    }
    document.getElementById("filter-count").textContent = `${n} of ${rows.length} annotators`;
  };
  if (table) {
    byName.addEventListener("input", filter);
    byFlag.addEventListener("change", filter);
    filter();
  }

  // Confusions of the annotator that is pointed at, focused or pressed.
  const panel = document.getElementById("confusion-panel");
  const heatMap = (name, cells) => {
    const classes = data.confusions.classes;
    const counts = classes.map(() => new Array(classes.length).fill(0));
    for (let n = 0; n < cells.length; n += 2) {
      counts[Math.floor(cells[n] / classes.length)][cells[n] % classes.length] = cells[n + 1];
    }
    const made = element("table", undefined, {class: "heat"});
    made.append(element("caption", `Confusions of ${name}: rows are the consensus, columns the label said, cells are numbers of labels`, {class: "hidden"}));
    const head = element("tr");
    head.append(element("td"), ...classes.map((each) => element("th", each, {scope: "col"})));
    made.append(element("thead"));
    made.tHead.append(head);
    const body = element("tbody");
    counts.forEach((row, k) => {
      const total = row.reduce((sum, each) => sum + each, 0);
      if (!total) return;
      const line = element("tr");
      line.append(element("th", classes[k], {scope: "row", title: classes[k]}));
      for (const n of row) {
        const cell = element("td", n ? String(n) : "");
        cell.style.setProperty("--share", (n / total).toFixed(3));
        line.append(cell);
      }
      body.append(line);
    });
    made.append(body);
    return made;
  };
  const agreementByClass = (name, cells) => {
    const made = element("table", undefined, {class: "own-agreement"});
    made.append(element("caption", `How far the others agree with ${name}, by the class that ${name} says`, {class: "hidden"}));
    const head = element("tr");
    for (const each of ["Says", "Items", "Others agree"]) head.append(element("th", each, {scope: "col"}));
    made.append(element("thead"));
    made.tHead.append(head);
    const body = element("tbody");
    for (let n = 0; n < cells.length; n += 3) {
      const line = element("tr");
      line.append(element("th", data.confusions.classes[cells[n]], {scope: "row"}),
        element("td", String(cells[n + 1]), {class: "n"}),
        element("td", `${Math.round(100 * cells[n + 2])} %`, {class: "n"}));
      body.append(line);
    }
    made.append(body);
    return made;
  };
  let chosen = null;
  const show = (row) => {
    const cells = data.confusions && data.confusions.annotators[row.dataset.code];
    if (!cells || chosen === row) return;
    if (chosen) chosen.classList.remove("chosen");
    chosen = row;
    row.classList.add("chosen");
    const name = nameOf(row);
    const scroll = element("div", undefined, {class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix of one annotator"});
    scroll.append(heatMap(name, cells));
    panel.replaceChildren(element("h3", name),
      element("p", "Rows: consensus. Columns: label said. Cells: labels.", {class: "of"}), scroll);
    const own = data.confusions.agreement[row.dataset.code];
    if (own && own.length) panel.append(agreementByClass(name, own));
  };
  if (panel) {
    for (const row of rows) {
      row.addEventListener("mouseenter", () => show(row));
      row.addEventListener("focusin", () => show(row));
      row.addEventListener("click", () => show(row));
    }
    const first = rows.find((row) => data.confusions.annotators[row.dataset.code]);
    if (first) show(first);
  }
})();
