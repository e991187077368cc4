import type { PageProps } from '../app/page.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import PeopleList from './list.tsx';
import { peopleTexts } from './texts.ts';

const PersonPage = lazyPart(() => import('./page.tsx'));

export default function PeoplePage({ rest }: PageProps) {
  const [id] = rest;
  if (id === undefined) return <PeopleList />;
  return (
    <WhenAllowed key={id} title={peopleTexts.title} check={['users:read', `user/${id}`]}>
      {() => <PersonPage id={id} />}
    </WhenAllowed>
  );
}
