"use strict";

// A number is compared as one, text in the reader's order; what is not there comes last both ways.
const keyOf = (row, column) => {
  const cell = row.cells[column];
  const text = cell.textContent.trim();
  if ("value" in cell.dataset) return Number(cell.dataset.value);
  return text === "-" || text === "" ? null : text;
};

const compare = (a, b, direction) => {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return direction * (a - b);
  return direction * String(a).localeCompare(String(b), "en", { numeric: true });
};

const sort = (table, column) => {
  const headers = [...table.tHead.rows[0].cells];
  const direction = headers[column].getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [keyOf(row, column), row]);
  rows.sort((a, b) => compare(a[0], b[0], direction));
  body.append(...rows.map(([, row]) => row));
  headers.forEach((header) => header.setAttribute("aria-sort", "none"));
  headers[column].setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
};

const makeSortable = (table) => {
  if (table.tBodies[0].rows.length < 2) return;
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(table, column));
    header.append(button);
    header.setAttribute("aria-sort", "none");
  });
};

// One tooltip for all numbers: a pointer shows it, and so does the focus, which arrow keys move.
const tip = document.getElementById("tip");

const hideTip = () => {
  tip.hidden = true;
  document.querySelectorAll("[aria-describedby=tip]").forEach((cell) => {
    cell.removeAttribute("aria-describedby");
  });
};

const showTip = (cell) => {
  hideTip();
  tip.textContent = cell.dataset.tip;
  tip.hidden = false;
  const box = cell.getBoundingClientRect();
  const left = Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
  const below = box.bottom + 6;
  const fits = below + tip.offsetHeight < window.innerHeight;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${fits ? below : Math.max(8, box.top - tip.offsetHeight - 6)}px`;
  cell.setAttribute("aria-describedby", "tip");
};

const neighbour = (cell, key) => {
  const row = cell.parentElement;
  const rows = [...row.parentElement.rows];
  const step = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (step !== undefined) return rows[rows.indexOf(row) + step]?.cells[cell.cellIndex];
  const told = [...row.cells].filter((other) => other.dataset.tip);
  return told[told.indexOf(cell) + (key === "ArrowRight" ? 1 : -1)];
};

const moveFocus = (event) => {
  if (!event.key.startsWith("Arrow") || !event.target.dataset.tip) return;
  event.preventDefault();
  const next = neighbour(event.target, event.key);
  if (!next?.dataset.tip) return;
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
};

const makeTold = (table) => {
  const cells = [...table.querySelectorAll("[data-tip]")];
  cells.forEach((cell, number) => {
    cell.tabIndex = number === 0 ? 0 : -1;
    cell.addEventListener("focus", () => showTip(cell));
    cell.addEventListener("blur", hideTip);
    cell.addEventListener("pointerenter", () => showTip(cell));
    cell.addEventListener("pointerleave", hideTip);
  });
  table.addEventListener("keydown", moveFocus);
};

// A figure is one stop of the Tab key; arrow keys go from mark to mark, each of which says its values.
const makeRoving = (figure) => {
  const marks = [...figure.querySelectorAll(".ddf-mark")];
  if (!marks.length) return;
  figure.setAttribute("role", "group"); // an image may hold nothing that takes the focus
  marks.forEach((mark, number) => {
    mark.tabIndex = number === 0 ? 0 : -1;
  });
  figure.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    const next = marks[marks.indexOf(event.target) + step];
    if (!next) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
};

document.querySelectorAll("svg.ddf").forEach(makeRoving);
document.querySelectorAll("table").forEach((table) => {
  makeSortable(table);
  makeTold(table);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});
const follow = () => {
  if (tip.hidden) return;
  const cell = document.querySelector("[aria-describedby=tip]");
  if (cell.matches(":hover, :focus")) showTip(cell);
  else hideTip();
};
document.addEventListener("scroll", follow, { capture: true, passive: true });

// The button names what it changes to.
const theme = document.getElementById("theme");
const darkWanted = window.matchMedia("(prefers-color-scheme: dark)");

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen === undefined ? darkWanted.matches : chosen === "dark";
};

const nameTheme = () => {
  theme.textContent = isDark() ? "Light" : "Dark";
  theme.setAttribute("aria-label", `Show the page in ${isDark() ? "light" : "dark"}`);
};

theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
darkWanted.addEventListener("change", nameTheme);
nameTheme();
theme.hidden = false;
