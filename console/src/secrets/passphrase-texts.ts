export const passphraseTexts = {
  passphrase: 'Passphrase of this vault',
  hint: 'It stays in this browser.',
  newPassphrase: 'Choose the passphrase of this vault',
  again: 'Type it again',
  differs: 'This is not the same as above.',
  lost: 'It stays in this browser. If it is lost, so are the values: nobody can open them, and nobody can reset it.',
  changing: 'The passphrase of this vault is being changed. Use the new one.',
  strength: {
    none: 'At least 12 characters. Five random words are strong, and easy to remember.',
    short: 'Too short: at least 12 characters.',
    weak: 'Weak: somebody with a copy of the database could guess it. Add a random word or two.',
    fair: 'Fair. Another random word makes it strong.',
    strong: 'Strong.',
  },
} as const;
