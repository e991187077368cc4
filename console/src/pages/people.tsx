import { lazyPart } from '../lazy-part.tsx';
import type { PageProps } from '../routes.ts';
import { peopleTexts } from '../texts/people.ts';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import PeopleList from './people-list.tsx';

const PersonPage = lazyPart(() => import('./person.tsx'));

export default function PeoplePage({ rest }: PageProps) {
  const [id] = rest;
  if (id === undefined) return <PeopleList />;
  return (
    <WhenAllowed key={id} title={peopleTexts.title} check={['users:read', `user/${id}`]}>
      {() => <PersonPage id={id} />}
    </WhenAllowed>
  );
}
