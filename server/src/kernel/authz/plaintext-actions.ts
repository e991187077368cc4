const actions = new Set<string>();
let isRead = false;

/** Told by each declaration whose answer takes the plaintext of a secret. Declarations are all made while the program is loaded. */
export function addPlaintextAction(action: string): void {
  if (isRead && !actions.has(action))
    throw new Error(`${action} is declared after roles were made of the declarations`);
  actions.add(action);
}

/** Every action that shows or takes values, for a role that may never have them. */
export function plaintextActions(): string[] {
  isRead = true;
  return [...actions].sort();
}
