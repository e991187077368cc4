/**
 * Each key has its own purpose in the keyring, so destroying the purpose destroys the key. The id is used because, unlike a name, it is never reused.
 */
export function purposeOf(keyId: string): string {
  return `eaas/${keyId}`;
}
