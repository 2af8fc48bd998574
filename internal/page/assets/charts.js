// Small charts of the last five minutes.
import uPlot from "./vendored/uplot.js";
import { compact } from "./page.js";

const points = 300; // a second each

export class Charts {
  #before = null;
  #charts;

  constructor(element, list) {
    this.times = [];
    this.#charts = list.map((one) => {
      const figure = document.createElement("figure");
      const title = document.createElement("figcaption");
      const link = document.createElement("a");
      link.href = one.href;
      link.textContent = "–";
      title.append(one.name + " ", link);
      const room = document.createElement("div");
      room.className = "chart";
      room.setAttribute("role", "img");
      room.setAttribute("aria-label", `${one.name}, the last five minutes`);
      figure.append(title, room);
      element.append(figure);
      return { ...one, link, room, values: [], plot: null };
    });
    addEventListener("themechange", () => this.#anew());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#anew());
    new ResizeObserver(() => {
      for (const chart of this.#charts) chart.plot?.setSize({ width: chart.room.clientWidth, height: 56 });
    }).observe(element);
  }

  // add takes what /v1/status says; of what only grows it shows the growth.
  add(status) {
    const now = Date.now() / 1000;
    const before = this.#before;
    this.#before = { now, values: this.#charts.map((chart) => chart.rate?.(status)) };
    if (!before) return;
    this.times.push(now);
    if (this.times.length > points) this.times.shift();
    this.#charts.forEach((chart, i) => {
      const value = chart.value ? chart.value(status) : Math.max(0, (this.#before.values[i] - before.values[i]) / Math.max(0.2, now - before.now));
      chart.values.push(value);
      if (chart.values.length > points) chart.values.shift();
      chart.link.textContent = compact(value);
      this.#draw(chart);
    });
  }

  #draw(chart) {
    const data = [this.times, chart.values];
    if (chart.plot) {
      chart.plot.setData(data);
      return;
    }
    const colour = getComputedStyle(chart.room).getPropertyValue("--accent").trim();
    chart.plot = new uPlot(
      {
        width: chart.room.clientWidth,
        height: 56,
        padding: [4, 0, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
        axes: [{ show: false }, { show: false }],
        scales: { x: { range: (_, __, max) => [max - points, max] }, y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
        series: [{}, { stroke: colour, width: 1.5, fill: colour + "22", points: { show: false } }],
        hooks: {
          setCursor: [
            (plot) => {
              const i = plot.cursor.idx;
              chart.link.textContent = compact(chart.values[i ?? chart.values.length - 1] ?? 0);
            },
          ],
        },
      },
      data,
      chart.room,
    );
  }

  #anew() {
    for (const chart of this.#charts) {
      chart.plot?.destroy();
      chart.plot = null;
      if (chart.values.length) this.#draw(chart);
    }
  }
}
