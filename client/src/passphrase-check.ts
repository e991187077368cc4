import { openUnderFirst, sealFor, ZeroKnowledgeError, type ZeroKnowledgeSecret } from './zero-knowledge.ts';

/** What is sealed. Only the passphrase of the vault opens it, so a mistyped one is noticed before a value is sealed under it. */
const TEXT = 'The passphrase of this vault opens this text.';

/** The passphrase or key is not the one under which the values of the vault are sealed. Nothing was sealed or stored. */
export class WrongPassphraseError extends Error {
  override readonly name = 'WrongPassphraseError';
  constructor(vault: string, isFormer = false) {
    super(
      isFormer
        ? `The passphrase of ${vault} is being changed: use the new one.`
        : `This is not the passphrase or key of ${vault}. Nothing was stored.`,
    );
  }
}

/** Seals the check of a vault. It opens for this vault alone, and a value never passes for it, nor it for a value. */
export function sealPassphraseCheck(vault: string, secret: ZeroKnowledgeSecret): Promise<string> {
  return sealFor(new TextEncoder().encode(TEXT), secret, { checkOf: vault });
}

export async function opensPassphraseCheck(
  check: string,
  vault: string,
  secret: ZeroKnowledgeSecret,
): Promise<boolean> {
  try {
    const { value } = await openUnderFirst(check, secret, [{ checkOf: vault }]);
    return new TextDecoder().decode(value) === TEXT;
  } catch (error) {
    if (error instanceof ZeroKnowledgeError) return false;
    throw error;
  }
}
