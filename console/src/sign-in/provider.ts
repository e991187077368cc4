import { place } from '../app/router.ts';

/** Kept by this tab while the person is at the provider. A program on another port can replace the cookie of the sign-in, but not this. */
const FLOW_KEY = 'coffer-provider-flow';

/** Leaves for the provider, which sends the browser back. */
export function goToProvider({ url, flow_key }: { url: string; flow_key: string }): void {
  sessionStorage.setItem(FLOW_KEY, flow_key);
  location.assign(url);
}

/** What the provider sent. It is used once, and taken out of the address, which becomes `address`. */
export function takeProviderAnswer(address: string) {
  const { code = '', state = '', redirect_uri = '', iss } = Object.fromEntries(place.value.query);
  history.replaceState(null, '', address);
  // A tab that began nothing has no key; the service refuses what it sends.
  const flow_key = sessionStorage.getItem(FLOW_KEY) ?? 'none';
  sessionStorage.removeItem(FLOW_KEY);
  return { code, state, redirect_uri, flow_key, ...(iss && { iss }) };
}
