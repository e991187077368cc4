import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Keys that a test presses, as the protocol names them. */
const KEY_CODES: Record<string, number> = { Enter: 13, Escape: 27, ArrowDown: 40, ArrowUp: 38, Tab: 9 };
const STEP_MS = 20;
const PATIENCE_MS = 10_000;

interface Message {
  id?: number;
  method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: each method of the protocol has its own
  params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: each method of the protocol has its own
  result?: any;
  error?: { message: string };
}

/** One page of a real browser, driven by the protocol of its developer tools. */
export class BrowserPage {
  /** What the browser complains of: policies that are violated, scripts that throw. */
  readonly complaints: string[] = [];
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #loads: (() => void)[] = [];
  #session = '';
  #sent = 0;

  private constructor(process: ChildProcess, profile: string, socket: WebSocket) {
    this.#process = process;
    this.#profile = profile;
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data))));
  }

  static async open(browser: string): Promise<BrowserPage> {
    const profile = mkdtempSync(join(tmpdir(), 'coffer-browser-'));
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-extensions'];
    const child = spawn(browser, [...flags, '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const socket = new WebSocket(await debuggerUrl(child));
    await once(socket, 'open');
    const page = new BrowserPage(child, profile, socket);
    const { targetId } = await page.send('Target.createTarget', { url: 'about:blank' });
    page.#session = (await page.send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
    for (const domain of ['Page', 'Runtime', 'Log']) await page.send(`${domain}.enable`);
    return page;
  }

  async close(): Promise<void> {
    this.#socket.close();
    const ended = once(this.#process, 'exit');
    this.#process.kill();
    await ended;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  async goTo(url: string): Promise<void> {
    // Another address of the same page alone would load nothing.
    await this.send('Page.navigate', { url: 'about:blank' });
    const loaded = new Promise<void>((resolve) => this.#loads.push(resolve));
    await this.send('Page.navigate', { url });
    await loaded;
    await this.until(`location.href !== 'about:blank' && document.readyState === 'complete'`);
  }

  // biome-ignore lint/suspicious/noExplicitAny: whatever the page answers
  async evaluate(expression: string): Promise<any> {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true });
    assert.equal(exceptionDetails, undefined, `${expression}: ${exceptionDetails?.exception?.description}`);
    return result.value;
  }

  /** Waits until it is true in the page, or in the one that takes its place meanwhile. */
  async until(expression: string): Promise<void> {
    const end = performance.now() + PATIENCE_MS;
    const isTrue = () =>
      this.evaluate(expression).catch((error: Error) => {
        if (!/navigated|context/.test(error.message)) throw error;
        return false;
      });
    while (!(await isTrue())) {
      assert.ok(performance.now() < end, `never true: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    }
  }

  async press(key: string): Promise<void> {
    const text = key.length === 1 ? { text: key } : key === 'Enter' ? { text: '\r' } : {};
    const event = { key, windowsVirtualKeyCode: KEY_CODES[key] ?? key.charCodeAt(0), ...text };
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key });
  }

  async type(text: string): Promise<void> {
    await this.send('Input.insertText', { text });
  }

  async look({ width, height = 900, scheme = 'light' }: { width: number; height?: number; scheme?: 'light' | 'dark' }) {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await this.send('Emulation.setEmulatedMedia', { features });
  }

  // biome-ignore lint/suspicious/noExplicitAny: each method of the protocol has its own
  async send(method: string, params: object = {}): Promise<any> {
    const id = ++this.#sent;
    const answered = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    const session = this.#session === '' ? {} : { sessionId: this.#session };
    this.#socket.send(JSON.stringify({ id, method, params, ...session }));
    const { result, error } = await answered;
    assert.equal(error, undefined, `${method}: ${error?.message}`);
    return result;
  }

  #receive({ id, method, params, ...rest }: Message): void {
    if (id !== undefined) {
      this.#waiting.get(id)?.(rest);
      this.#waiting.delete(id);
    } else if (method === 'Page.loadEventFired') {
      this.#loads.shift()?.();
    } else if (method === 'Log.entryAdded') {
      this.complaints.push(`${params.entry.text} ${params.entry.url ?? ''}`);
    } else if (method === 'Runtime.exceptionThrown') {
      this.complaints.push(String(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text));
    }
  }
}

async function debuggerUrl({ stderr }: ChildProcess): Promise<string> {
  assert.ok(stderr !== null);
  for await (const line of createInterface({ input: stderr })) {
    const [, url] = /^DevTools listening on (ws:\S+)$/.exec(line) ?? [];
    if (url !== undefined) {
      stderr.resume();
      return url;
    }
  }
  throw new Error('the browser ended before it listened');
}
