// A log that grows at its top: filtered as one types, held while one reads.
import { html, render } from "./page.js";

const most = 200; // rows

export class Log {
  #rows = [];
  #held = null; // rows of the moment at which it was held
  #more = 0;
  #due = 0;

  // row draws one; words are what the filter looks at.
  constructor({ form, room, head, row, words, initial = "" }) {
    Object.assign(this, { form, room, head, row, words, filter: initial });
    form.addEventListener("submit", (event) => event.preventDefault());
    this.#bar();
    this.#draw();
  }

  add(rows, more = 0) {
    this.#more += more;
    this.#rows = [...rows].reverse().concat(this.#rows).slice(0, 1000);
    this.#soon();
  }

  // amend changes rows that are there.
  amend(change) {
    this.#rows = this.#rows.map(change);
    this.#soon();
  }

  #soon() {
    if (!this.#due) this.#due = setTimeout(() => this.#draw(), 100);
  }

  #bar() {
    const type = (event) => {
      this.filter = event.target.value;
      this.#draw();
    };
    const hold = () => {
      this.#held = this.#held ? null : this.#rows;
      this.#bar();
      this.#draw();
    };
    render(
      html`<span class="row"><input type="search" value=${this.filter} onInput=${type} placeholder="Filter" aria-label="Filter" autocomplete="off" />
      <button type="button" aria-pressed=${this.#held !== null} onClick=${hold}>${this.#held ? "Go on" : "Pause"}</button></span>`,
      this.form,
    );
  }

  #draw() {
    clearTimeout(this.#due);
    this.#due = 0;
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const all = this.#held ?? this.#rows;
    const shown = all.filter((row) => words.every((word) => this.words(row).toLowerCase().includes(word))).slice(0, most);
    if (all.length === 0 && this.#more === 0) return; // what the server wrote stands
    if (!this.begun) {
      this.begun = true;
      this.room.replaceChildren();
    }
    render(
      html`<div class="table stack"><table><thead><tr>${this.head.map((name) => html`<th class=${name === "Took" ? "n" : ""}>${name}</th>`)}</tr></thead>
      <tbody>${shown.map((row) => this.row(row))}</tbody></table></div>
      ${shown.length === 0 && html`<p class="empty">Nothing of the last ${all.length} lines matches.</p>`}
      ${this.#more > 0 && html`<p class="note">${this.#more} more came too fast to be shown.</p>`}`,
      this.room,
    );
  }
}
