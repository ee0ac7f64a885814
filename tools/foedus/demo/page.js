"use strict";
// Draws the events of /events. The newest minute is on the charts, which are drawn anew at most
// four times a second, without animation.

const kWindowSeconds = 60;
const kInstances = {
  "snapshots": {
    title: "Log and snapshots",
    about: "The gleaner turns log into snapshot pages. Recovery reads the log since the last one.",
  },
  "log-only": {
    title: "Log only",
    about: "No snapshots are made while transactions run. Recovery reads all of the log.",
  },
};

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const count = (value) => Math.round(value).toLocaleString("en");
const duration = (ms) => (ms < 1000 ? count(ms) + " ms" : (ms / 1000).toFixed(2) + " s");
const latency = (us) => (us < 1000 ? count(us) + " µs" : (us / 1000).toFixed(1) + " ms");
const bytes = (value) =>
  value < 1e9 ? (value / 1e6).toFixed(0) + " MB" : (value / 1e9).toFixed(2) + " GB";

// Draws each kill as a vertical line, and each begin of a stage as a short one above the axis.
const marks = {
  id: "marks",
  afterDatasetsDraw(chart) {
    const { ctx, chartArea: area, scales: { x } } = chart;
    ctx.save();
    ctx.font = "600 11px system-ui, DejaVu Sans, sans-serif";
    for (const mark of chart.marks || []) {
      const at = x.getPixelForValue(mark.time - chart.now);
      if (at < area.left || at > area.right) continue;
      ctx.strokeStyle = ctx.fillStyle = colour(mark.kind);
      ctx.lineWidth = mark.kind === "kill" ? 2 : 1;
      ctx.beginPath();
      ctx.moveTo(at, mark.kind === "kill" ? area.top : area.bottom - 9);
      ctx.lineTo(at, area.bottom);
      ctx.stroke();
      const has_room = at < area.right - 30;
      ctx.textAlign = has_room ? "left" : "right";
      if (mark.kind === "kill") ctx.fillText("kill", at + (has_room ? 4 : -4), area.top + 10);
    }
    ctx.restore();
  },
};

// Only powers of ten have room on a logarithmic axis.
const power_of_ten = (value) => (Number.isInteger(Math.log10(value)) ? count(value) : null);

function make_chart(canvas, unit, label, series) {
  const is_latency = unit === "µs";
  const axis = { grid: { color: colour("line") }, ticks: { color: colour("soft"), maxTicksLimit: 4 } };
  canvas.setAttribute("aria-label", label + " of the last minute");
  return new Chart(canvas, {
    type: "line",
    data: {
      datasets: series.map(([name, key]) => ({
        label: name, data: [], borderColor: colour(key), backgroundColor: colour(key), borderWidth: 2,
        pointRadius: 0, tension: 0, spanGaps: false,
      })),
    },
    options: {
      animation: false, maintainAspectRatio: false, events: [], parsing: false, normalized: true,
      scales: {
        x: { ...axis, type: "linear", min: -kWindowSeconds, max: 0,
             ticks: { ...axis.ticks, maxTicksLimit: 7, callback: (value) => value + " s" } },
        y: { ...axis, type: is_latency ? "logarithmic" : "linear",
             ...(is_latency ? { min: 1, ticks: { ...axis.ticks, callback: power_of_ten } }
                            : { beginAtZero: true }), afterFit: (scale) => { scale.width = 74; },
             title: { display: true, text: unit, color: colour("soft"), font: { size: 11 } } },
      },
      plugins: {
        title: { display: true, text: label, align: "start", color: colour("ink"),
                 padding: { bottom: series.length > 1 ? 0 : 6 } },
        legend: { display: series.length > 1, align: "end",
                  labels: { color: colour("ink"), boxWidth: 14, boxHeight: 2, padding: 4 } },
      },
    },
    plugins: [marks],
  });
}

class Panel {
  constructor(name, words) {
    this.name = name;
    this.root = document.getElementById("instance").content.cloneNode(true).firstElementChild;
    this.root.id = name;
    this.find("h2").textContent = words.title;
    this.find(".about").textContent = words.about;
    this.find(".stages").classList.toggle("none", name === "log-only");
    this.button = this.find("button");
    this.button.setAttribute("aria-label", "Kill and restart: " + words.title);
    this.button.onclick = () => this.kill();
    for (const part of this.root.querySelectorAll("[data-figure]")) part.textContent = "–";
    this.figure("acks", "");
    document.querySelector("main").append(this.root);
    this.samples = [];
    this.marks = [];
    this.speed_before = 0;
    this.is_recovering = false;
    this.set_state("starting");
    this.make_charts();
  }

  find(selector) { return this.root.querySelector(selector); }
  figure(name, text) { this.find(`[data-figure="${name}"]`).textContent = text; }

  make_charts() {
    for (const chart of Object.values(this.charts || {})) chart.destroy();
    const canvas = (name) => this.find(`[data-chart="${name}"]`);
    this.charts = {
      txn: make_chart(canvas("txn"), "1,000/s", "Transactions", [["", "txn"]]),
      p99: make_chart(canvas("p99"), "µs", "99th percentile of latency, logarithmic", [["", "p99"]]),
      bytes: make_chart(canvas("bytes"), "MB", "Memory and files",
                        [["DRAM", "dram"], ["log", "log"], ["snapshots", "snapshots"]]),
    };
  }

  async kill() {
    this.button.disabled = true;
    await fetch("/kill/" + this.name, { method: "POST", headers: { "X-Foedus-Demo": "1" } });
  }

  set_state(text, is_bad = false) {
    this.find(".state").textContent = text;
    this.find(".state").classList.toggle("bad", is_bad);
    const is_failed = text === "failed";
    this.button.textContent = is_failed ? "Start again" : "Kill and restart";
    this.button.disabled = !(is_failed || text === "running");
  }

  set_stage(stage) {
    for (const item of this.root.querySelectorAll("[data-stage]")) {
      item.classList.toggle("now", item.dataset.stage === stage);
    }
  }

  show_message(text) {
    this.find(".message").hidden = text === "";
    this.find(".message").textContent = text;
  }

  // `line`: an event of the process, or of its parent, with the time of its arrival in seconds.
  take(line, time) {
    const handle = this["on_" + line.event];
    if (handle) handle.call(this, line, time);
  }

  on_killed(line, time) {
    const recent = this.samples.filter((sample) => sample.txn !== null).slice(-12)
      .map((sample) => sample.txn).sort((a, b) => a - b);
    this.speed_before = recent.length ? recent[recent.length >> 1] : 0;
    this.is_recovering = true;
    this.marks.push({ time, kind: "kill" });
    for (const name of ["first_read", "full_speed"]) this.figure(name, "…");
    this.figure("acks", "looking for acknowledged orders …");
    this.find(".acks").className = "acks";
    this.samples.push({ time, txn: null, p99: null, dram: null, log: null, snapshots: null });
    this.set_stage("");
    this.set_state("killed", true);
  }
  on_started() { this.show_message(""); this.set_state(this.is_recovering ? "recovering" : "starting"); }
  on_loading() { this.set_state("loading"); }
  on_first_read(line) { if (this.is_recovering) this.figure("first_read", duration(line.ms)); }
  on_failed(line) { this.set_state("failed", true); this.show_message(line.message); }
  on_check_failed(line) { this.show_message(line.message); }
  on_stage(line, time) {
    this.set_stage(line.stage);
    if (line.stage) this.marks.push({ time, kind: "snapshots" });
    if (line.message) this.show_message(line.message);
  }
  on_checked(line) {
    this.figure("acks", `acknowledged ${count(line.acknowledged)}, recovered ` +
                        `${count(line.recovered)}, lost ${count(line.lost)}`);
    this.find(".acks").className = line.lost === 0 ? "acks good" : "acks bad";
  }
  on_sample(line, time) {
    this.samples.push({ time, txn: line.txn_per_s / 1e3, p99: line.p99_us,
                        dram: line.dram_bytes / 1e6, log: line.log_bytes / 1e6,
                        snapshots: line.snapshot_bytes / 1e6 });
    this.figure("txn", count(line.txn_per_s));
    this.figure("p99", latency(line.p99_us));
    this.figure("dram", bytes(line.dram_bytes));
    this.figure("log", bytes(line.log_bytes));
    this.figure("snapshots", bytes(line.snapshot_bytes));
    if (this.find(".state").textContent !== "running") this.set_state("running");
    // Full speed: nine tenths of the median before the kill.
    if (this.is_recovering && line.txn_per_s / 1e3 >= 0.9 * this.speed_before) {
      this.is_recovering = false;
      this.figure("full_speed", duration(line.ms));
    }
  }

  draw(now) {
    const begin = now - kWindowSeconds - 2;
    this.samples = this.samples.filter((sample) => sample.time >= begin);
    this.marks = this.marks.filter((mark) => mark.time >= begin);
    const points = (key) => this.samples.map((sample) => ({ x: sample.time - now, y: sample[key] }));
    const keys = { txn: ["txn"], p99: ["p99"], bytes: ["dram", "log", "snapshots"] };
    for (const [name, chart] of Object.entries(this.charts)) {
      chart.now = now;
      chart.marks = this.marks;
      chart.options.scales.y.suggestedMax = greatest(keys[name]);
      keys[name].forEach((key, i) => { chart.data.datasets[i].data = points(key); });
      chart.update("none");
    }
  }
}

const panels = {};
// Both instances have the same axes, so that heights can be compared.
const greatest = (keys) => Object.values(panels).flatMap((panel) => panel.samples)
  .reduce((most, sample) => Math.max(most, ...keys.map((key) => sample[key] || 0)), 0);
for (const [name, words] of Object.entries(kInstances)) panels[name] = new Panel(name, words);

let last_drawn = 0;
const connection = document.getElementById("connection");
const events = new EventSource("/events");
events.onopen = () => { connection.textContent = ""; };
events.onerror = () => { connection.textContent = "The demo has ended, or does not answer."; };
events.onmessage = (message) => {
  const line = JSON.parse(message.data);
  panels[line.instance].take(line, line.at);
  const now = Math.max(line.at, last_drawn);
  if (now - last_drawn < 0.2) return;
  last_drawn = now;
  requestAnimationFrame(() => { for (const panel of Object.values(panels)) panel.draw(now); });
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const panel of Object.values(panels)) panel.make_charts();
});
