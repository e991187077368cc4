// Opens what somebody shared, in the browser. The key is after the # of the link, which browsers never send.

const ITERATIONS = 600_000;
const CONTEXT = new TextEncoder().encode('coffer share v1');

function bytesOf(text) {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** With a passphrase both it and the key of the link are needed. */
async function keyOf(linkKey, passphrase, salt) {
  let added = new Uint8Array();
  if (passphrase !== null) {
    const given = await crypto.subtle.importKey('raw', new TextEncoder().encode(passphrase), 'PBKDF2', false, [
      'deriveBits',
    ]);
    const cost = { name: 'PBKDF2', hash: 'SHA-256', salt: bytesOf(salt), iterations: ITERATIONS };
    added = new Uint8Array(await crypto.subtle.deriveBits(cost, given, 256));
  }
  const secret = await crypto.subtle.importKey('raw', bytesOf(linkKey), 'HKDF', false, ['deriveKey']);
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: added, info: CONTEXT };
  return crypto.subtle.deriveKey(derivation, secret, { name: 'AES-GCM', length: 256 }, false, ['decrypt']);
}

export function takesPassphrase(envelope) {
  return envelope.startsWith('share:v1:passphrase:');
}

/** Throws if the key or the passphrase is wrong, or the envelope was changed. */
export async function openEnvelope(envelope, linkKey, passphrase) {
  const parts = envelope.split(':').slice(2);
  const salt = parts[0] === 'passphrase' ? parts[1] : null;
  const [iv, sealed] = parts.slice(-2);
  const key = await keyOf(linkKey, salt === null ? null : passphrase, salt);
  const how = { name: 'AES-GCM', iv: bytesOf(iv), additionalData: CONTEXT };
  return new TextDecoder().decode(await crypto.subtle.decrypt(how, key, bytesOf(sealed)));
}

function start() {
  const part = (id) => document.getElementById(id);
  const [said, form, open, copy, value] = ['said', 'passphrase', 'open', 'copy', 'value'].map(part);
  const linkKey = location.hash.slice(1);
  // The key disappears from the address and from the history.
  history.replaceState(null, '', location.pathname);
  if (linkKey === '') {
    said.textContent = 'The link is not complete: the part after # is missing.';
    open.hidden = true;
    return;
  }
  let envelope = null;
  const show = async (passphrase) => {
    try {
      value.textContent = await openEnvelope(envelope, linkKey, passphrase);
    } catch {
      said.textContent =
        passphrase === null ? 'The link is damaged: ask for a new one.' : 'The passphrase is wrong: try again.';
      return;
    }
    for (const each of [value, copy]) each.hidden = false;
    form.hidden = true;
    said.textContent = 'Store it now: this page does not keep it.';
  };
  open.addEventListener('click', async () => {
    open.disabled = true;
    const id = location.pathname.split('/').pop();
    const address = `../v1/shares/${encodeURIComponent(id)}/open`;
    const answer = await fetch(address, { method: 'POST' }).catch(() => null);
    if (answer === null || !answer.ok) {
      const isGone = answer !== null && answer.status === 404;
      said.textContent = isGone
        ? 'There is nothing to open: it was opened, was revoked or has expired. Ask for a new link.'
        : 'The service cannot be reached, or refused for now: try again in a minute.';
      open.disabled = isGone;
      return;
    }
    ({ envelope } = await answer.json());
    open.hidden = true;
    if (!takesPassphrase(envelope)) return show(null);
    said.textContent = 'A passphrase is needed, which you were told in another way.';
    form.hidden = false;
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    show(form.querySelector('input').value);
  });
  copy.addEventListener('click', () => navigator.clipboard.writeText(value.textContent));
}

if (typeof document !== 'undefined') start();
