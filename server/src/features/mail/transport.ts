import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { SentMessageInfo, Transporter } from 'nodemailer';
import { SECOND_MS } from '../../kernel/base/clock.ts';
import { isOnThisMachine } from '../../kernel/base/host-name.ts';
import { htmlOf, type Message, requireSafeHeaders, textOf } from './message.ts';
import type { MailConfig, MailSender } from './settings.ts';

const CONNECT_TIMEOUT_MS = 10 * SECOND_MS;
const IDLE_TIMEOUT_MS = 15 * SECOND_MS;
/** A server that sends one byte now and then is never idle. */
export const SEND_TIMEOUT_MS = 40 * SECOND_MS;

/** A mail that was not sent. The text names no address and no content. */
export class MailFailure extends Error {
  /** Whether the server will never take it, so that there is no use in trying again. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

export interface MailTransport {
  /** Resolves once the mail was taken. `id` is the same at each attempt, so that a receiver recognizes a repetition. */
  send(id: string, message: Message, signal: AbortSignal): Promise<void>;
}

export function mailTransport(
  config: Exclude<MailConfig, { kind: 'off' }>,
  onFile: (file: string) => void,
): MailTransport {
  return config.kind === 'smtp' ? new SmtpTransport(config) : new FileTransport(config, onFile);
}

/** A message never names a file or a URL to read. */
const NO_OTHER_SOURCES = { disableFileAccess: true, disableUrlAccess: true } as const;

function envelopeOf(from: MailSender, id: string, message: Message) {
  requireSafeHeaders(message);
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  return {
    ...NO_OTHER_SOURCES,
    from: { name: from.name, address: from.address },
    to: { name: '', address: message.to },
    envelope: { from: from.address, to: [message.to] },
    messageId: `<${id}@${domain}>`,
    subject: message.subject,
    text: textOf(message),
    html: htmlOf(message),
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}

/** Loaded at the first mail: it is forty modules, and many installations send none. */
const loadMailer = () => import('nodemailer');

type SmtpConfig = Extract<MailConfig, { kind: 'smtp' }>;

async function smtpTransporter(server: SmtpConfig['server']): Promise<Transporter<SentMessageInfo>> {
  const { createTransport } = await loadMailer();
  return createTransport({
    ...NO_OTHER_SOURCES,
    host: server.host,
    port: server.port,
    secure: server.isTls,
    // A password is never sent in the clear, unless it stays on this machine.
    requireTLS: !server.isTls && server.auth !== null && !isOnThisMachine(server.host),
    ...(server.auth !== null && { auth: { user: server.auth.user, pass: server.auth.pass } }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: IDLE_TIMEOUT_MS,
  });
}

class SmtpTransport implements MailTransport {
  readonly #server: SmtpConfig['server'];
  readonly #from: MailSender;
  #transporter: Promise<Transporter<SentMessageInfo>> | undefined;

  constructor({ server, from }: SmtpConfig) {
    this.#server = server;
    this.#from = from;
  }

  async send(id: string, message: Message, signal: AbortSignal): Promise<void> {
    const mail = envelopeOf(this.#from, id, message);
    const ended = Promise.withResolvers<never>();
    const deadline = setTimeout(
      () => ended.reject(new MailFailure('the mail server took too long', false)),
      SEND_TIMEOUT_MS,
    );
    const stop = () => ended.reject(new MailFailure('the service is stopping', false));
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) stop();
      this.#transporter ??= smtpTransporter(this.#server);
      const transporter = await this.#transporter;
      await Promise.race([transporter.sendMail(mail).catch(fail), ended.promise]);
    } finally {
      clearTimeout(deadline);
      signal.removeEventListener('abort', stop);
    }
  }
}

/** The server's own text may repeat the address, so only its code is stored. */
function fail(error: Error & { code?: string; responseCode?: number; command?: string }): never {
  const { code = 'unknown', responseCode, command } = error;
  const isRecipientRefused = command === 'RCPT TO' && responseCode !== undefined && responseCode >= 500;
  const what = responseCode === undefined ? code : `${code}, response ${responseCode}`;
  throw new MailFailure(`the mail server did not take it (${what})`, isRecipientRefused);
}

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** For development: each mail is a file that the developer opens. */
class FileTransport implements MailTransport {
  readonly #folder: string;
  readonly #from: MailSender;
  readonly #onFile: (file: string) => void;

  constructor({ folder, from }: Extract<MailConfig, { kind: 'files' }>, onFile: (file: string) => void) {
    this.#folder = folder;
    this.#from = from;
    this.#onFile = onFile;
  }

  async send(id: string, message: Message): Promise<void> {
    const { createTransport } = await loadMailer();
    const transporter = createTransport({ ...NO_OTHER_SOURCES, streamTransport: true, buffer: true });
    const { message: bytes } = await transporter.sendMail(envelopeOf(this.#from, id, message));
    await mkdir(this.#folder, { recursive: true, mode: FOLDER_MODE });
    const file = join(this.#folder, `${id}.eml`);
    const handle = await open(`${file}.part`, 'w', FILE_MODE);
    try {
      await handle.writeFile(bytes as Buffer);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(`${file}.part`, file);
    this.#onFile(file);
  }
}
