import { signal } from '@preact/signals';

const BEGINNING = '#/invitation/';

/** The code of the invitation whose link was opened; null if there was none. It is kept in memory only. */
export const openedInvitation = signal<string | null>(null);

/** The code is in the fragment, which is never sent to a service. */
export function invitationLink(code: string): string {
  return `${location.origin}/${BEGINNING}${encodeURIComponent(code)}`;
}

/** Takes the code out of the address at once, so that neither the history nor a copied address has it. */
function take(): void {
  if (!location.hash.startsWith(BEGINNING)) return;
  openedInvitation.value = location.hash.slice(BEGINNING.length);
  history.replaceState(null, '', '#/');
}

// Loaded before the router, which never sees such an address.
take();
addEventListener('hashchange', take);
