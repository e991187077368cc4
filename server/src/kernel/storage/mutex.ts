/** Runs one task at a time, in the order they came. */
export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  get idle(): boolean {
    return this.#waiting === 0;
  }

  run<T>(task: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const result = this.#tail.then(task);
    this.#tail = result.then(
      () => this.#waiting--,
      () => this.#waiting--,
    );
    return result;
  }
}
