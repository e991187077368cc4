const STEP_WITHOUT_TERMINAL = 100;

/** How far an import has come, on standard error. */
export class Progress {
  isStopped = false;
  #hasLine = false;

  show(done: number, total: number): void {
    const { stderr } = process;
    if (stderr.isTTY === true) {
      this.#hasLine = true;
      stderr.write(`\r${done} of ${total} secrets`);
    } else if (done % STEP_WITHOUT_TERMINAL === 0 || done === total) {
      stderr.write(`${done} of ${total} secrets\n`);
    }
  }

  end(): void {
    if (this.#hasLine) process.stderr.write('\n');
  }
}
