import { useMay } from '../app/capabilities.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Select } from '../ui/field.tsx';
import type { User } from './data.ts';
import { roleTexts } from './role-texts.ts';
import { peopleTexts as texts } from './texts.ts';

export type Role = User['role'];

const STATUS_TONES: Readonly<Record<User['status'], Tone>> = {
  active: 'good',
  invited: 'warning',
  disabled: 'danger',
};

export function StatusBadge({ status }: { status: User['status'] }) {
  return <Badge tone={STATUS_TONES[status]}>{texts.statuses[status]}</Badge>;
}

/** What only owners may give is offered to owners only. */
export function RoleChoice({ value, onChange }: { value: Role; onChange: (role: Role) => void }) {
  const may = useMay({ owner: ['users:grant_owner', 'user'] });
  const roles = (Object.keys(roleTexts.roles) as Role[]).filter(
    (role) => role !== 'owner' || may.owner || value === 'owner',
  );
  return (
    <Select
      field="role"
      label={texts.role}
      hint={roleTexts.roleMeanings[value]}
      value={value}
      onChange={onChange}
      choices={roles.map((role) => [role, roleTexts.roles[role]] as const)}
    />
  );
}
