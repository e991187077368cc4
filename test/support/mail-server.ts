import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { after } from 'node:test';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  from: string;
  to: string[];
  /** As it was sent, with its headers. */
  source: string;
}

/** What the server does with the next mails; it takes them unless told. */
export type Behaviour = 'take' | 'refuse-recipient' | 'try-later' | 'drop' | 'hang';

export interface MailServer {
  url: string;
  received: ReceivedMail[];
  /** How often a client tried to hand over a mail. */
  tries: number;
  behaviour: Behaviour;
  close(): Promise<void>;
}

const RESPONSES = { 'refuse-recipient': 550, 'try-later': 451 } as const;

function refusal(behaviour: keyof typeof RESPONSES): Error {
  return Object.assign(new Error('not taken'), { responseCode: RESPONSES[behaviour] });
}

const open = new Set<SMTPServer>();
after(async () => {
  for (const server of open) await closed(server);
});

function closed(server: SMTPServer): Promise<void> {
  open.delete(server);
  return new Promise((resolve) => server.close(() => resolve()));
}

/** A real SMTP server on loopback. */
export async function startMailServer(port = 0): Promise<MailServer> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    closeTimeout: 100,
    onMailFrom(_, __, callback) {
      state.tries++;
      if (state.behaviour !== 'hang') callback();
    },
    onRcptTo(_, __, callback) {
      callback(state.behaviour === 'refuse-recipient' ? refusal('refuse-recipient') : undefined);
    },
    onData(stream, session, callback) {
      if (state.behaviour === 'drop') {
        stream.once('data', () => (session as unknown as { connection?: never }) && dropAll());
        stream.resume();
        return;
      }
      readText(stream).then((source) => {
        if (state.behaviour === 'try-later') return callback(refusal('try-later'));
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        state.received.push({ from, to: rcptTo.map(({ address }) => address), source });
        return callback();
      }, callback);
    },
  });
  const dropAll = () => {
    for (const { _socket } of (server as unknown as { connections: Set<{ _socket: { destroy(): void } }> })
      .connections) {
      _socket.destroy();
    }
  };
  // A client that goes away in the middle is part of the tests.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  open.add(server);
  const state: MailServer = {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    received: [],
    tries: 0,
    behaviour: 'take',
    close: () => closed(server),
  };
  return state;
}

/** The text part of a mail, decoded. */
export function textPart(source: string): string {
  const [, part = ''] = /Content-Type: text\/plain[^\r\n]*\r?\n([\s\S]*?)\r?\n--/.exec(source) ?? [];
  const [head = '', ...rest] = part.split(/\r?\n\r?\n/);
  const body = rest.join('\n\n');
  if (/quoted-printable/i.test(head)) return quotedPrintable(body);
  return /base64/i.test(head) ? Buffer.from(body, 'base64').toString('utf8') : body;
}

function quotedPrintable(body: string): string {
  const joined = body.replace(/=\r?\n/g, '');
  const bytes = joined.replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
