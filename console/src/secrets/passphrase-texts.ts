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

export const changePassphraseTexts = {
  title: 'Change the passphrase',
  submit: 'Change the passphrase',
  text: 'Every value is opened and sealed again in this browser. If it is interrupted, do it again with the same two passphrases: it continues. Everybody who uses the vault needs the new one.',
  from: 'Passphrase until now',
  to: 'New passphrase',
  same: 'This is the passphrase that the vault has.',
  progress: (count: number) => `${count === 1 ? '1 value is' : `${count} values are`} done. Leave this page open.`,
  changed: (vault: string, count: number) =>
    `The passphrase of ${vault} is changed: ${count === 1 ? '1 value is' : `${count} values are`} sealed under it.`,
  refused:
    'Neither passphrase opens these values. Write them anew or delete them, and change the passphrase again with the same two: until then the change is not over.',
} as const;
