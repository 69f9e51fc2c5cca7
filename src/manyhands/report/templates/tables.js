"use strict";
// On a narrow screen the rows of these tables stand as blocks. Their cells then show which column
// they are of, and their roles stay those of a table.
(() => {
  const role = (name, parts) => { for (const each of parts) each.setAttribute("role", name); };
  for (const table of document.querySelectorAll("table.stack")) {
    const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    role("table", [table]);
    role("rowgroup", [table.tHead, ...table.tBodies]);
    role("row", table.rows);
    role("columnheader", table.tHead.rows[0].cells);
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, column) => {
        role(cell.tagName === "TH" ? "rowheader" : "cell", [cell]);
        if (cell.tagName === "TD") cell.dataset.column = names[column];
      });
    }
  }
})();
