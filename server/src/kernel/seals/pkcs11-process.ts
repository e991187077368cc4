import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SECOND_MS } from '../base/clock.ts';
import type { Pkcs11Answer, Pkcs11Request, Pkcs11Setup } from './pkcs11-messages.ts';
import type { SealSurroundings } from './surroundings.ts';

const WORKER_FILE = fileURLToPath(new URL(`./pkcs11-worker${extname(import.meta.url)}`, import.meta.url));
const TIMEOUT_DEFAULT_MS = 20 * SECOND_MS;
/** Modules of vendors read variables of their own, and need none of these. */
const WITHHELD = /^(?:CV_|COFFER_|AWS_|AZURE_|GOOGLE_|VAULT_|PKCS11_|NODE_)|PASS|SECRET|TOKEN|CREDENTIAL|DATABASE_URL/i;

interface Waiting {
  readonly resolve: (answer: Pkcs11Answer | null) => void;
  readonly timer: NodeJS.Timeout;
}

/** A module in a process of its own, which is ended when it does not answer in time, and started again by the next call. */
export class Pkcs11Process {
  readonly #env: NodeJS.ProcessEnv;
  readonly #timeoutMs: number;
  readonly #waiting = new Map<number, Waiting>();
  #child: ChildProcess | null = null;
  #last = 0;

  constructor({ env, timeoutMs }: SealSurroundings) {
    this.#env = Object.fromEntries(Object.entries(env).filter(([name]) => !WITHHELD.test(name)));
    this.#timeoutMs = timeoutMs ?? TIMEOUT_DEFAULT_MS;
  }

  /** Null if the process ended, or did not answer in time. */
  call(setup: () => Pkcs11Setup, request: Omit<Pkcs11Request, 'number'>): Promise<Pkcs11Answer | null> {
    const child = this.#started(setup);
    const number = ++this.#last;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.end(), this.#timeoutMs);
      this.#waiting.set(number, { resolve, timer });
      // A process that just ended is told by its exit.
      child.send({ ...request, number } satisfies Pkcs11Request, () => {});
    });
  }

  /** Ends it at once. A module that hangs heeds no other signal. */
  end(): void {
    this.#child?.kill('SIGKILL');
    this.#ended(this.#child);
  }

  #started(setup: () => Pkcs11Setup): ChildProcess {
    if (this.#child !== null) return this.#child;
    const told = setup();
    const child = fork(WORKER_FILE, [], {
      env: this.#env,
      execArgv: ['--disable-sigusr1'],
      serialization: 'advanced',
      // Modules print what nobody knows.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('message', (answer) => this.#answer(answer as Pkcs11Answer));
    child.once('exit', () => this.#ended(child));
    child.once('error', () => this.#ended(child));
    // The PIN goes this way, because arguments and variables of a process are visible to others.
    child.send(told, () => {});
    child.unref();
    child.channel?.unref();
    this.#child = child;
    return child;
  }

  #answer(answer: Pkcs11Answer): void {
    const waiting = this.#waiting.get(answer.number);
    this.#waiting.delete(answer.number);
    clearTimeout(waiting?.timer);
    waiting?.resolve(answer);
  }

  #ended(child: ChildProcess | null): void {
    if (child !== this.#child) return;
    this.#child = null;
    for (const { resolve, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      resolve(null);
    }
    this.#waiting.clear();
  }
}
