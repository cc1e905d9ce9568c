/**
 * Follows the cluster's changes over one connection for all pages of a browser, while at least one of them is looked at.
 *
 *   const hub = new Hub();
 *   const page = hub.join((message) => port.postMessage(message));
 *   page.hear({looks: true, after: 12})   this page is looked at and has all changes up to number 12
 *   page.hear({looks: false})             it is hidden, or shows the past; `page.leave()`: it is gone
 *
 * What pages are told: {kind: "open"}, {kind: "lost", attempts, status}, {kind: "source", data}, {kind: "delta", data, seq} and
 * {kind: "reload"}; `data` is JSON as text. A page that comes later gets the changes that it lacks, as far as they are kept
 * here, else it is told to load the whole state. It runs in a worker or in a page: there may be no `document`.
 */

const WAITS = [0.5, 1, 2, 4, 8, 10];
const MAX_KEPT = 4_000_000; // characters

export class Hub {
  #pages = new Set();
  #stream = null;
  #isOpen = false;
  #kept = []; // [seq, data]
  #keptLength = 0;
  #first = 0; // changes after this number are kept
  #source = null;
  #attempts = 0;
  #timer = 0;

  join(tell) {
    const page = { tell, looks: false, after: 0 };
    this.#pages.add(page);
    return {
      hear: (message) => (message.looks ? this.#look(page, message.after) : this.#rest(page)),
      leave: () => {
        this.#rest(page);
        this.#pages.delete(page);
      },
    };
  }

  get #looking() {
    return [...this.#pages].filter((page) => page.looks);
  }

  #look(page, after) {
    page.looks = true;
    page.after = after;
    if (!this.#isOpen) {
      // It waits to try again, or was opened for pages that are further: begin where this page is.
      if (!this.#stream || after < this.#first) this.#connect();
      return;
    }
    page.tell({ kind: "open" });
    if (this.#source) page.tell({ kind: "source", data: this.#source });
    if (after < this.#first) page.tell({ kind: "reload" });
    else for (const [seq, data] of this.#kept) if (seq > after) send(page, seq, data);
  }

  #rest(page) {
    page.looks = false;
    if (!this.#looking.length) this.#close();
  }

  #close() {
    clearTimeout(this.#timer);
    this.#stream?.close();
    this.#stream = null;
    this.#isOpen = false;
    this.#attempts = 0;
    this.#forget(0);
  }

  #forget(first) {
    this.#first = first;
    this.#kept = [];
    this.#keptLength = 0;
  }

  #connect() {
    clearTimeout(this.#timer);
    this.#stream?.close();
    this.#isOpen = false;
    this.#forget(Math.min(...this.#looking.map((page) => page.after)));
    const stream = new EventSource(`/api/changes?after=${this.#first}`);
    this.#stream = stream;
    stream.addEventListener("open", () => this.#opened());
    stream.addEventListener("source", (event) => {
      this.#source = event.data;
      this.#tell({ kind: "source", data: event.data });
    });
    stream.addEventListener("delta", (event) => this.#take(Number(event.lastEventId), event.data));
    stream.addEventListener("reload", (event) => {
      this.#forget(JSON.parse(event.data).seq);
      this.#tell({ kind: "reload" });
    });
    stream.addEventListener("error", () => this.#stream === stream && this.#failed());
  }

  #opened() {
    // After a failure to connect it may be another server, with other numbers.
    const isOther = this.#attempts > 1;
    this.#isOpen = true;
    this.#attempts = 0;
    this.#tell({ kind: "open" });
    if (isOther) this.#tell({ kind: "reload" });
  }

  #take(seq, data) {
    this.#kept.push([seq, data]);
    this.#keptLength += data.length;
    while (this.#keptLength > MAX_KEPT) {
      const [dropped, text] = this.#kept.shift();
      this.#first = dropped;
      this.#keptLength -= text.length;
    }
    for (const page of this.#looking) send(page, seq, data);
  }

  async #failed() {
    this.#stream.close();
    this.#stream = null;
    this.#isOpen = false;
    const attempts = (this.#attempts += 1);
    const wait = WAITS[Math.min(attempts, WAITS.length) - 1];
    this.#timer = setTimeout(() => this.#connect(), wait * 1000);
    // An EventSource does not say what the server answered.
    const status = attempts > 1 ? await statusOf("/api/status") : 0;
    if (this.#attempts === attempts) this.#tell({ kind: "lost", attempts, status });
  }

  #tell(message) {
    for (const page of this.#looking) page.tell(message);
  }
}

function send(page, seq, data) {
  page.after = seq;
  page.tell({ kind: "delta", seq, data });
}

/** The status of the answer; 0 if there is none. */
async function statusOf(path) {
  try {
    return (await fetch(path, { cache: "no-store" })).status;
  } catch {
    return 0;
  }
}
