const actions = new Set<string>();
let isRead = false;

/** Called for each declaration whose response needs the plaintext of a secret. All declarations are made while the modules load. */
export function addPlaintextAction(action: string): void {
  if (isRead && !actions.has(action))
    throw new Error(`${action} is declared after roles were made of the declarations`);
  actions.add(action);
}

/** Every action that shows or uses secret values, for roles that must never have them. */
export function plaintextActions(): string[] {
  isRead = true;
  return [...actions].sort();
}
