// Requests to the worker: the newest one counts, and what takes too long is ended with its worker, for a new one.
const LIMIT = 30_000; // milliseconds that an answer may take, a little more than Python's own limit
const OUTDATED = 3_000; // and one that nobody waits for any more

export class Asking {
  // `tell(kind, detail)` is told of "starting", "ready", "asking", "stopped", "late" and "broken".
  constructor(tell) {
    this.tell = tell;
    this.number = 0;
    this.running = null; // the request that the worker has
    this.waiting = null; // the one that comes after it
    this.begin();
  }

  begin() {
    this.ready = false;
    this.worker = new Worker("worker.js", { type: "module" });
    this.worker.onmessage = ({ data }) => this.heard(data);
    this.worker.onerror = (event) => this.tell("broken", event.message || "Python could not be started.");
    this.tell("starting");
  }

  // The answer, or null where a newer request or a stop came between.
  ask(request) {
    this.waiting?.resolve(null);
    return new Promise((resolve) => {
      this.waiting = { request, resolve };
      if (this.running && performance.now() - this.running.since > OUTDATED) this.again();
      this.next();
    });
  }

  next() {
    if (!this.ready || this.running || !this.waiting) return;
    this.running = { ...this.waiting, number: ++this.number, since: performance.now() };
    this.waiting = null;
    this.running.timer = setTimeout(() => this.stop("late"), LIMIT);
    this.worker.postMessage({ number: this.number, request: this.running.request });
    this.tell("asking");
  }

  heard(data) {
    if (data.kind === "ready") {
      this.ready = true;
      this.tell("ready", data);
    } else if (data.kind === "broken") {
      this.tell("broken", data.message);
    } else if (this.running && data.number === this.running.number) {
      const { resolve, timer } = this.running;
      clearTimeout(timer);
      this.running = null;
      if (data.ended) this.again();
      resolve({ ...JSON.parse(data.text), took: data.took });
    }
    this.next();
  }

  // Ends what runs and starts Python anew; what was typed is the page's, and stays.
  stop(why = "stopped") {
    this.waiting?.resolve(null);
    this.waiting = null;
    this.again();
    this.tell(why);
  }

  again() {
    this.worker.terminate();
    if (this.running) {
      clearTimeout(this.running.timer);
      this.running.resolve(null);
      this.running = null;
    }
    this.begin();
  }

  get busy() {
    return Boolean(this.running || this.waiting);
  }
}
