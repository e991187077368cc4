import { signal } from '@preact/signals';

/** Who signed in with this browser. Storage belongs to one port of the host, so no other program can change it as it can the cookie. */
const SIGNED_IN = 'coffer-signed-in';
const FORM = /^tenant_[0-9a-z]+\/user_[0-9a-z]+$/;

/** Tells the service for whom a request is meant; it refuses one whose cookie is of somebody else. */
export const SESSION_OWNER_HEADER = 'X-Coffer-User';

interface NewSession {
  readonly tenant_id: string;
  readonly user_id: string;
}

/** Whom this page shows. It stays the same when another tab signs in. */
let owner = stored();
/** The service refused a request because the cookie is of somebody else. Nothing is sent any more until the page is loaded again. */
export const isSessionChanged = signal(false);

function stored(): string | null {
  const text = localStorage.getItem(SIGNED_IN);
  return text !== null && FORM.test(text) ? text : null;
}

/** As the header has it; null if nobody signed in here. */
export function sessionOwner(): string | null {
  return owner;
}

export function own({ tenant_id, user_id }: NewSession): void {
  owner = `${tenant_id}/${user_id}`;
  localStorage.setItem(SIGNED_IN, owner);
}

export function disown(): void {
  owner = null;
  localStorage.removeItem(SIGNED_IN);
}

/** All tabs share the cookie: one that shows another person, or somebody who signed out, is loaded again. */
addEventListener('storage', ({ key, newValue }) => {
  if (key === SIGNED_IN && owner !== null && newValue !== owner) location.reload();
});
