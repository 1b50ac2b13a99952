// Listing blobs: flat, by hierarchy, in pages, with all that can be included.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';

const names = (items) => items.map((item) => item.name);

describe('a container with folders', () => {
  let container;
  const all = ['a', 'b/1', 'b/2', 'b/c/1', 'b/c/2', 'd', 'd.txt', 'd/e/f/g', 'ä', 'z'].sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
  before(async () => {
    container = await azure.newContainer();
    for (const name of [...all].reverse()) await azure.newBlob(container, name, name, { metadata: { of: encodeURIComponent(name) } });
  });

  test('is listed in the order of bytes', async () => {
    assert.deepEqual(names(await azure.collect(container.listBlobsFlat())), all);
  });

  test('is listed by prefix', async () => {
    for (const prefix of ['b/', 'd', 'ä', 'nothing']) {
      const want = all.filter((name) => name.startsWith(prefix));
      assert.deepEqual(names(await azure.collect(container.listBlobsFlat({ prefix }))), want, prefix);
    }
  });

  test('is listed in pages of any size, each blob once', async () => {
    for (const size of [1, 2, 3, 9, 10, 11]) {
      const pages = await azure.collect(container.listBlobsFlat().byPage({ maxPageSize: size }));
      assert.deepEqual(pages.flatMap((p) => names(p.segment.blobItems)), all, `pages of ${size}`);
      assert.ok(pages.every((p) => p.segment.blobItems.length <= size), `a page of ${size} was longer`);
      assert.equal(pages.at(-1).continuationToken || '', '', 'the last page has a marker');
    }
  });

  test('is listed by hierarchy', async () => {
    const level = async (prefix) => {
      const items = await azure.collect(container.listBlobsByHierarchy('/', { prefix }));
      return items.map((item) => (item.kind === 'prefix' ? `${item.name}…` : item.name)).sort();
    };
    assert.deepEqual(await level(), ['a', 'b/…', 'd', 'd.txt', 'd/…', 'z', 'ä'].sort());
    assert.deepEqual(await level('b/'), ['b/1', 'b/2', 'b/c/…']);
    assert.deepEqual(await level('d'), ['d', 'd.txt', 'd/…'].sort());
    assert.deepEqual(await level('b/c/'), ['b/c/1', 'b/c/2']);
  });

  test('counts a folder as one in a page', async () => {
    for (const size of [1, 2, 3]) {
      const seen = [];
      for await (const page of container.listBlobsByHierarchy('/').byPage({ maxPageSize: size })) {
        const items = [...(page.segment.blobPrefixes ?? []), ...page.segment.blobItems];
        assert.ok(items.length <= size, `a page of ${size} has ${items.length}`);
        seen.push(...names(items));
      }
      assert.deepEqual(seen.sort(), ['a', 'b/', 'd', 'd.txt', 'd/', 'z', 'ä'].sort(), `pages of ${size}`);
    }
  });

  test('has the same properties of each blob as the blob itself', async () => {
    const items = await azure.collect(container.listBlobsFlat({ includeMetadata: true }));
    for (const item of items) {
      const properties = await container.getBlobClient(item.name).getProperties();
      assert.equal(`"${item.properties.etag}"`.replaceAll('""', '"'), properties.etag);
      assert.deepEqual(item.properties.lastModified, properties.lastModified);
      assert.equal(item.properties.contentLength, properties.contentLength);
      assert.equal(item.properties.contentType, properties.contentType);
      assert.deepEqual(item.properties.contentMD5, properties.contentMD5);
      assert.equal(item.properties.blobType, 'BlockBlob');
      assert.equal(item.properties.leaseState, 'available');
      assert.deepEqual(item.metadata, properties.metadata);
    }
  });

  test('continues from a token, and refuses one of another list', async () => {
    const first = await container.listBlobsFlat().byPage({ maxPageSize: 4 }).next();
    const { continuationToken } = first.value;
    const rest = await azure.collect(container.listBlobsFlat().byPage({ continuationToken }));
    assert.deepEqual(rest.flatMap((p) => names(p.segment.blobItems)), all.slice(4));
    await refused(container.listBlobsFlat().byPage({ continuationToken: 'from elsewhere' }).next(), 400, 'InvalidQueryParameterValue');
  });

  test('has no pages of nothing', async () => {
    await refused(container.listBlobsFlat().byPage({ maxPageSize: 0 }).next(), 400, 'OutOfRangeQueryParameterValue');
  });
});

describe('a container with snapshots', () => {
  let container;
  const want = [];
  before(async () => {
    container = await azure.newContainer();
    for (const name of ['a', 'b', 'c']) {
      const blob = await azure.newBlob(container, name);
      for (let i = 0; i < 4; i++) want.push([name, (await blob.createSnapshot()).snapshot]);
      want.push([name, undefined]);
    }
  });

  test('lists them oldest first and the base last', async () => {
    const items = await azure.collect(container.listBlobsFlat({ includeSnapshots: true }));
    assert.deepEqual(items.map((i) => [i.name, i.snapshot || undefined]), want);
    assert.deepEqual(names(await azure.collect(container.listBlobsFlat())), ['a', 'b', 'c']);
  });

  test('lists each once, whatever the size of a page', async () => {
    for (const size of [1, 2, 3, 4, 5, 7, 14, 15, 16]) {
      const pages = await azure.collect(container.listBlobsFlat({ includeSnapshots: true }).byPage({ maxPageSize: size }));
      const items = pages.flatMap((p) => p.segment.blobItems.map((i) => [i.name, i.snapshot || undefined]));
      assert.deepEqual(items, want, `pages of ${size}`);
    }
  });
});

test('lists include what they are asked for', async () => {
  const container = await azure.newContainer();
  await azure.newBlob(container, 'tagged', 'x', { tags: { colour: 'red' }, metadata: { size: 'large' } });
  await container.getBlockBlobClient('unfinished').stageBlock(Buffer.from('1').toString('base64'), 'x', 1);
  const copy = container.getBlobClient('copy');
  await (await copy.beginCopyFromURL(container.getBlobClient('tagged').url)).pollUntilDone();
  const list = async (options) => new Map((await azure.collect(container.listBlobsFlat(options))).map((b) => [b.name, b]));

  const plain = await list();
  assert.deepEqual([...plain.keys()], ['copy', 'tagged']);
  assert.equal(plain.get('tagged').tags, undefined);
  assert.equal(plain.get('tagged').metadata, undefined);
  assert.deepEqual([...(await list({ includeUncommitedBlobs: true })).keys()], ['copy', 'tagged', 'unfinished']);
  assert.deepEqual((await list({ includeTags: true })).get('tagged').tags, { colour: 'red' });
  assert.deepEqual((await list({ includeMetadata: true })).get('tagged').metadata, { size: 'large' });
  const { properties } = (await list({ includeCopy: true })).get('copy');
  assert.equal(properties.copyStatus, 'success');
  assert.ok(properties.copyId && properties.copySource && properties.copyCompletedOn, 'the copy is not told of');
  assert.deepEqual([...(await list({ includeDeleted: true, includeVersions: true })).keys()], ['copy', 'tagged'], 'deleted and versions add nothing');
});

test('a list of nothing is empty, and one of no container is refused', async () => {
  assert.deepEqual(await azure.collect((await azure.newContainer()).listBlobsFlat()), []);
  const nowhere = azure.service.getContainerClient(azure.uniqueName());
  await refused(azure.collect(nowhere.listBlobsFlat()), 404, 'ContainerNotFound');
});
