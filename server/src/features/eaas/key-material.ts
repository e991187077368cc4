/** Each key's material has a purpose of its own in the keyring: destroying the purpose destroys the key. Ids are never used again, names may be. */
export function purposeOf(keyId: string): string {
  return `eaas/${keyId}`;
}
