import type { Installation } from './installation.ts';
import { postFrom } from './load.ts';

/** Each account is tried by few at a time: many at once would look like guessing, and be refused. */
const ACCOUNTS = 32;
const PASSWORD = 'correct horse battery';

const emailOf = (account: number) => `bench-${account}@example.com`;
const madeFor = new Set<string>();

/** Logins by password, each from an address of its own; the accounts are made first. */
export async function passwordLogins({ port, token, dataDir }: Installation): Promise<() => Buffer> {
  if (!madeFor.has(dataDir)) await makeAccounts(port, token);
  madeFor.add(dataDir);
  let n = 0;
  return () => postFrom(addressOf(++n), '/auth/login', { email: emailOf(n % ACCOUNTS), password: PASSWORD });
}

async function makeAccounts(port: number, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  for (let account = 0; account < ACCOUNTS; account++) {
    const body = JSON.stringify({ email: emailOf(account), role: 'member', password: PASSWORD });
    const made = await fetch(`http://127.0.0.1:${port}/v1/users`, { method: 'POST', headers, body });
    if (made.status !== 201) throw new Error(`no account was made: ${made.status}`);
  }
}

/** No two of the first sixteen million are the same. */
export function addressOf(n: number): string {
  return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
}
