/** Runs one task at a time, in the order they came. */
export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    // Whoever waits behind a task waits for its end, not for its success.
    this.#tail = result.catch(() => {});
    return result;
  }
}
