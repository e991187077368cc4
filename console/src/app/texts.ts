/** Shown when another session replaced the one of this page. */
export const sessionChangedText =
  'The session of this browser was replaced, so it is no longer yours. What you did last was refused and changed nothing. Load the page again and sign in. If you did not sign in as somebody else yourself, another program on this host may have done it: tell the operator of this service.';

/** What went wrong while a value was sealed or opened in the browser, by the name of the error. */
export const sealingTexts: Readonly<Record<string, string>> = {
  WrongPassphraseError: 'This is not the passphrase of this vault. Nothing was stored.',
  ZeroKnowledgeError:
    'This passphrase does not open the value. If it is the right one, the value was sealed for another place or was changed.',
  ZeroKnowledgeVersionError: 'The service answered with an older value than before: the secret was rolled back.',
};
