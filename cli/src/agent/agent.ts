import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Coffer, CofferError } from '../../../client/src/index.ts';
import { certificateRenewalMs, renewCertificateFiles } from '../../../client/src/node/index.ts';
import { type Child, type ChildEnvironment, startChild } from '../child.ts';
import { environmentFor, surroundings } from '../child-environment.ts';
import { CommandError, EXIT, explain } from '../failure.ts';
import { certificateFilesIn } from '../machine-auth.ts';
import { note } from '../output.ts';
import { type Selection, type SelectionOptions, versionsOf } from '../selection.ts';
import type { Settings } from '../settings.ts';
import { renderAll, type Template, versionsOfTemplates, writeChanged } from './rendering.ts';

/** What happens when a secret has changed. */
export type OnChange = { kind: 'restart' } | { kind: 'signal'; signal: NodeJS.Signals } | { kind: 'nothing' };

export interface AgentOptions extends SelectionOptions {
  templates: readonly Template[];
  command: readonly string[];
  onChange: OnChange;
  /** Run by sh after files have changed, for services that this agent did not start. */
  reload: string | null;
  intervalMs: number;
  /** How long it goes on with what it has while the service does not give it anything. */
  staleMs: number;
  isOnce: boolean;
}

const TOLD = Symbol('told to stop');
const STOP_MS = 10_000;
const FIRST_WAIT_MS = 60_000;

/** Keeps files and a command supplied with secrets. */
export class Agent {
  readonly #coffer: Coffer;
  readonly #settings: Settings;
  readonly #selection: Selection | null;
  readonly #options: AgentOptions;
  readonly #written = new Map<string, string>();
  readonly #stopping = new AbortController();
  /** With a command, signals are the command's. */
  readonly #told: Promise<typeof TOLD>;
  #suppliedAt = performance.now();

  constructor(coffer: Coffer, settings: Settings, selection: Selection | null, options: AgentOptions) {
    this.#coffer = coffer;
    this.#settings = settings;
    this.#selection = selection;
    this.#options = options;
    const told = Promise.withResolvers<typeof TOLD>();
    this.#told = told.promise;
    if (options.command.length > 0) return;
    // From now on, also while it waits for the service.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => told.resolve(TOLD));
  }

  /** Ends with the exit code of the command, or 0 when it was told to stop. */
  async run(): Promise<number> {
    const { command, isOnce } = this.#options;
    const first = await Promise.race([this.#first(), this.#told]);
    if (first === TOLD || isOnce) return EXIT.done;
    let supplied = first;
    this.#renewCertificate();
    if (command.length === 0) return this.#withoutCommand(supplied.versions);
    for (;;) {
      const child = this.#start(supplied.environment);
      const outcome = await Promise.race([child.ended, this.#untilRestart(supplied.versions, child)]);
      if (typeof outcome === 'number') {
        this.#stopping.abort();
        return outcome;
      }
      const code = await stop(child);
      if (child.isToldToStop()) return code;
      if (outcome === null) throw this.#staleError();
      supplied = outcome;
    }
  }

  async #withoutCommand(versions: string): Promise<number> {
    const outcome = await Promise.race([this.#told, this.#untilRestart(versions, null)]);
    this.#stopping.abort();
    if (outcome !== TOLD) throw this.#staleError();
    return EXIT.done;
  }

  /** At a start there is nothing to go on with, so a service that cannot be reached is waited for, for a minute. */
  async #first(): Promise<Supplied> {
    const until = performance.now() + FIRST_WAIT_MS;
    for (;;) {
      try {
        return await this.#supply(await this.#versions());
      } catch (error) {
        if (!isPassing(error) || performance.now() > until) throw error;
        note(`Waiting for the service: ${explain(error)}`);
        await sleep(Math.min(this.#options.intervalMs, 5_000));
      }
    }
  }

  /** Resolves with what a new command is given, or with null when the service has given nothing for too long. */
  async #untilRestart(versions: string, child: Child | null): Promise<Supplied | null> {
    const { intervalMs, staleMs } = this.#options;
    const { signal } = this.#stopping;
    let known = versions;
    let told = '';
    for (;;) {
      await sleep(intervalMs * (0.9 + 0.2 * Math.random()), undefined, { signal, ref: child === null });
      try {
        const now = await this.#versions();
        const supplied = now === known ? null : await this.#supply(now);
        this.#suppliedAt = performance.now();
        told = '';
        if (supplied === null) continue;
        known = now;
        if (this.#act(child)) return supplied;
      } catch (error) {
        signal.throwIfAborted();
        // Without the id of the request, which is another one each time.
        const said = explain(error).replace(/\n\([A-Za-z_]+, req_\w+\)$/, '');
        if (said !== told) note(`Going on with what there is: ${said}`);
        told = said;
        if (performance.now() - this.#suppliedAt > staleMs) return null;
      }
    }
  }

  /** Whether the command has to be started again. */
  #act(child: Child | null): boolean {
    const { onChange, reload } = this.#options;
    if (reload !== null) runReload(reload);
    if (child === null || onChange.kind === 'nothing') return false;
    note(
      onChange.kind === 'restart'
        ? 'A secret has changed: starting the command again.'
        : `A secret has changed: sending ${onChange.signal}.`,
    );
    if (onChange.kind === 'signal') child.kill(onChange.signal);
    return onChange.kind === 'restart';
  }

  async #versions(): Promise<string> {
    const { templates } = this.#options;
    const { signal } = this.#stopping;
    const selected = this.#selection === null ? '' : await versionsOf(this.#coffer, this.#selection, signal);
    return JSON.stringify([selected, await versionsOfTemplates(this.#coffer, templates, signal)]);
  }

  async #supply(versions: string): Promise<Supplied> {
    const { templates } = this.#options;
    const environment = await environmentFor(this.#coffer, this.#settings, this.#selection, this.#options);
    const files = await renderAll(this.#coffer, templates, this.#stopping.signal);
    const changed = writeChanged(files, this.#written);
    if (changed.length > 0) note(`Wrote ${changed.join(', ')}.`);
    return { versions, environment };
  }

  #start(environment: ChildEnvironment): Child {
    const [name = '', ...args] = this.#options.command;
    return startChild(name, args, environment);
  }

  /** The certificate in COFFER_CERT_FILE is renewed at two thirds of its life. A failure is told and tried again. */
  #renewCertificate(): void {
    const files = certificateFilesIn(process.env);
    const { auth } = this.#settings;
    const clientId = 'certificate' in auth ? auth.certificate.clientId : 'clientId' in auth ? auth.clientId : null;
    if (files === null || clientId === null) return;
    const { signal } = this.#stopping;
    const keep = async () => {
      for (;;) {
        await sleep(Math.min(certificateRenewalMs(files), MAX_TIMER_MS), undefined, { signal, ref: false });
        if (certificateRenewalMs(files) > 0) continue;
        try {
          await renewCertificateFiles(this.#coffer, clientId, files, { signal });
          note(`Renewed the certificate in ${files.certFile}.`);
          // By this clock, which is wrong then, it would be renewed again and again.
          if (certificateRenewalMs(files) === 0) await sleep(RENEW_RETRY_MS, undefined, { signal, ref: false });
        } catch (error) {
          signal.throwIfAborted();
          note(`The certificate was not renewed: ${explain(error)}`);
          await sleep(RENEW_RETRY_MS, undefined, { signal, ref: false });
        }
      }
    };
    // It ends only by being told to.
    keep().catch(
      (error: unknown) => signal.aborted || note(`The certificate is not renewed any more: ${explain(error)}`),
    );
  }

  #staleError(): CommandError {
    return new CommandError('The service has given nothing for longer than --max-stale-hours: stopping.', EXIT.remote);
  }
}

interface Supplied {
  versions: string;
  environment: ChildEnvironment;
}

const RENEW_RETRY_MS = 60_000;
/** The longest that a timer can be set for. */
const MAX_TIMER_MS = 2 ** 31 - 1;

async function stop(child: Child): Promise<number> {
  child.kill('SIGTERM');
  const forced = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  const code = await child.ended;
  clearTimeout(forced);
  return code;
}

function runReload(command: string): void {
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 2, 2], env: surroundings(false) });
  child.once('error', (error) => note(`--reload could not be run: ${error.message}`));
  child.once('exit', (code) => code === 0 || note(`--reload ended with ${code}.`));
}

/** The service was not there, or could not work: it may be in a moment. */
function isPassing(error: unknown): boolean {
  return (
    error instanceof CofferError &&
    error.code !== 'INVALID_ARGUMENT' &&
    (error.status === 0 || error.status === 429 || error.status >= 500)
  );
}
