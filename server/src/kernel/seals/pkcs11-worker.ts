import { createRequire } from 'node:module';
import type { Pkcs11Answer, Pkcs11Request, Pkcs11Setup } from './pkcs11-messages.ts';
import { type Pkcs11Binding, Pkcs11Session, Pkcs11Stop } from './pkcs11-session.ts';

/** The process of a PKCS #11 module: these block, and some of them crash. It ends with its parent. */

const CODE = /\bCKR_[A-Z0-9_]{2,60}\b/;
let setup: Pkcs11Setup | null = null;
let session: Pkcs11Session | null = null;

process.on('disconnect', () => process.exit());
process.on('message', (message: Pkcs11Setup | Pkcs11Request) => {
  if ('number' in message) process.send?.(answerTo(message));
  else setup = message;
});

function answerTo({ number, action, bytes, associatedData }: Pkcs11Request): Pkcs11Answer {
  try {
    if (setup === null) throw new Pkcs11Stop('FAULT');
    session ??= Pkcs11Session.open(binding(setup.bindingFolder), setup);
    const [input, data] = [Buffer.from(bytes), Buffer.from(associatedData)];
    return { number, bytes: action === 'wrap' ? session.wrap(input, data) : session.unwrap(input, data) };
  } catch (error) {
    if (error instanceof Pkcs11Stop) return { number, code: error.code };
    // Only the code: the text of a native error has its stack.
    return { number, code: CODE.exec(String((error as Error).message))?.[0] ?? 'FAULT' };
  }
}

function binding(folder: string | null): Pkcs11Binding {
  try {
    return createRequire(import.meta.url)(folder ?? 'pkcs11js');
  } catch {
    throw new Pkcs11Stop('NO_BINDING');
  }
}
