/** Runs one task at a time, in order of arrival. */
export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    // A later task waits for the end of an earlier one, not for its success.
    this.#tail = result.catch(() => {});
    return result;
  }
}
