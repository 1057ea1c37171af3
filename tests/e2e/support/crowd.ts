import { Person } from './person';

/** As many at a time: the server batches what arrives together. */
const AT_ONCE = 8;

/** That many new people like an item, through the API of one node, as fast as it answers. */
export async function crowdLikes(url: string, itemId: string, people: number): Promise<void> {
  let next = 0;
  const run = Math.random().toString(36).slice(2, 8);
  const one = async (): Promise<void> => {
    while (next < people) {
      next += 1;
      await new Person(url, `crowd:${run}-${next}`).like(itemId);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}
