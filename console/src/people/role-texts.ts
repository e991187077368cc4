export const roleTexts = {
  roles: { owner: 'owner', admin: 'admin', auditor: 'auditor', member: 'member' },
  roleMeanings: {
    member: 'Sees and does what vaults, groups and policies give them.',
    auditor: 'Sees everything but values: settings, policies and the audit log.',
    admin: 'Does everything, except what only owners may.',
    owner: 'Does everything, and is the only one who can make and change owners.',
  },
} as const;
