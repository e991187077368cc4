import type { PageProps } from '../app/page.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListOrItem } from '../ui/list-page.tsx';
import ConnectionList from './list.tsx';
import { connectionsTexts } from './texts.ts';

const Connection = lazyPart(() => import('./page.tsx'));

export default function ConnectionsPage({ rest }: PageProps) {
  return (
    <ListOrItem
      rest={rest}
      title={connectionsTexts.title}
      list={<ConnectionList />}
      check={(id) => ['app_connections:read', `app-connection/${id}`]}
      item={(id) => <Connection id={id} />}
    />
  );
}
