/**
 * Concurrent callers share one run of a task, but never one that began before they called: whatever happened before a call is visible to the run it
 * waits for.
 */
export class SharedRun<T> {
  readonly #task: () => Promise<T>;
  #running: Promise<T> | null = null;
  #next: Promise<T> | null = null;

  constructor(task: () => Promise<T>) {
    this.#task = task;
  }

  run(): Promise<T> {
    if (this.#running === null) return this.#start();
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#next;
  }

  #start(): Promise<T> {
    this.#next = null;
    const run = this.#task();
    this.#running = run;
    const done = () => {
      if (this.#running === run) this.#running = null;
    };
    run.then(done, done);
    return run;
  }
}
