// Block blobs: content in and out, whole, in ranges and in blocks.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';

const md5 = (data) => createHash('md5').update(data).digest();
const blockID = (text) => Buffer.from(text).toString('base64');

test('an upload can be downloaded', async () => {
  const container = await azure.newContainer();
  const blob = container.getBlockBlobClient('a');
  assert.equal(await blob.exists(), false);
  const written = await azure.write(blob, 'hello');
  assert.deepEqual(Buffer.from(written.contentMD5), md5('hello'));
  assert.equal(await azure.read(blob), 'hello');
  const properties = await blob.getProperties();
  assert.equal(properties.contentLength, 5);
  assert.equal(properties.blobType, 'BlockBlob');
  assert.equal(properties.contentType, 'application/octet-stream');
  assert.equal(properties.etag, written.etag);
  assert.deepEqual(properties.lastModified, written.lastModified);
  assert.ok(properties.createdOn instanceof Date);
  const overwritten = await azure.write(blob, 'hello again');
  assert.notEqual(overwritten.etag, written.etag);
  assert.equal(await azure.read(blob), 'hello again');
});

test('an empty blob is a blob', async () => {
  const blob = await azure.newBlob(await azure.newContainer(), 'empty', '');
  assert.equal(await azure.read(blob), '');
  assert.equal((await blob.getProperties()).contentLength, 0);
});

test('a missing blob is said to be missing', async () => {
  const blob = (await azure.newContainer()).getBlockBlobClient('nowhere');
  for (const what of ['download', 'getProperties', 'delete', 'setMetadata', 'createSnapshot']) {
    await refused(blob[what](), 404, 'BlobNotFound', what);
  }
  assert.equal((await blob.deleteIfExists()).succeeded, false);
});

test('ranges are read by offset and count', async () => {
  const blob = await azure.newBlob(await azure.newContainer(), 'digits', '0123456789');
  for (const [offset, count, want] of [[0, 4, '0123'], [4, 3, '456'], [7, undefined, '789'], [9, 100, '9']]) {
    assert.equal(await azure.read(blob, offset, count), want, `download(${offset}, ${count})`);
  }
  const part = await blob.download(2, 5, { rangeGetContentMD5: true });
  assert.equal(part._response.status, 206);
  assert.equal(part.contentRange, 'bytes 2-6/10');
  assert.deepEqual(Buffer.from(part.contentMD5), md5('23456'));
  assert.deepEqual(Buffer.from(part.blobContentMD5), md5('0123456789'));
  await refused(blob.download(10, 1), 416, 'InvalidRange');
});

test('content that does not match its MD5 is not written', async () => {
  const blob = (await azure.newContainer()).getBlockBlobClient('a');
  await refused(azure.write(blob, 'hello', { transactionalContentMD5: md5('goodbye') }), 400, 'Md5Mismatch');
  assert.equal(await blob.exists(), false);
  await refused(blob.stageBlock(blockID('1'), 'hello', 5, { transactionalContentMD5: md5('goodbye') }), 400, 'Md5Mismatch');
  await blob.stageBlock(blockID('1'), 'hello', 5, { transactionalContentMD5: md5('hello') });
});

test('headers and metadata are kept', async () => {
  const blobHTTPHeaders = {
    blobContentType: 'text/plain; charset=utf-8', blobContentEncoding: 'identity', blobContentLanguage: 'en, de',
    blobContentDisposition: 'inline', blobCacheControl: 'max-age=60',
  };
  const blob = await azure.newBlob(await azure.newContainer(), 'a', 'x', { blobHTTPHeaders, metadata: { one: '1', Two: 'zwei' } });
  const check = (p) => {
    assert.equal(p.contentType, blobHTTPHeaders.blobContentType);
    assert.equal(p.contentEncoding, 'identity');
    assert.equal(p.contentLanguage, 'en, de');
    assert.equal(p.contentDisposition, 'inline');
    assert.equal(p.cacheControl, 'max-age=60');
    assert.deepEqual(p.metadata, { one: '1', two: 'zwei' }, 'the SDK lowers the case of names');
  };
  check(await blob.getProperties());
  check(await blob.download());
  const before = await blob.getProperties();
  await blob.setHTTPHeaders({ blobContentType: 'text/html' });
  await blob.setMetadata({ three: 'drei' });
  const after = await blob.getProperties();
  assert.equal(after.contentType, 'text/html');
  assert.equal(after.cacheControl, undefined, 'what is not sent is cleared');
  assert.deepEqual(after.metadata, { three: 'drei' });
  assert.notEqual(after.etag, before.etag);
});

test('blocks become a blob when they are committed', async () => {
  const blob = (await azure.newContainer()).getBlockBlobClient('built');
  const [a, b, c] = ['a', 'b', 'c'].map(blockID);
  for (const [id, text] of [[a, 'one '], [b, 'two '], [c, 'never']]) await blob.stageBlock(id, text, text.length);
  await refused(blob.download(), 404, 'BlobNotFound', 'a blob of blocks that nobody committed');
  const staged = await blob.getBlockList('all');
  assert.deepEqual(staged.uncommittedBlocks.map((x) => [x.name, x.size]).sort(), [[a, 4], [b, 4], [c, 5]]);
  await blob.commitBlockList([b, a], { metadata: { made: 'of blocks' } });
  assert.equal(await azure.read(blob), 'two one ');
  const list = await blob.getBlockList('all');
  assert.deepEqual(list.committedBlocks.map((x) => x.name), [b, a]);
  assert.deepEqual(list.uncommittedBlocks ?? [], [], 'blocks left out are gone');
  await blob.stageBlock(c, 'three', 5);
  await blob.commitBlockList([b, c]);
  assert.equal(await azure.read(blob), 'two three');
  assert.equal((await blob.getProperties()).metadata.made, undefined, 'metadata belongs to a commit');
});

test('a list with a block that nobody staged is refused', async () => {
  const blob = await azure.newBlob(await azure.newContainer(), 'a', 'before');
  await refused(blob.commitBlockList([blockID('ghost')]), 400, 'InvalidBlockList');
  await assert.rejects(blob.stageBlock('not base64!', 'x', 1), { statusCode: 400 });
  assert.equal(await azure.read(blob), 'before');
});

test('large content travels in blocks, both ways', async () => {
  const blob = (await azure.newContainer()).getBlockBlobClient('large');
  const data = randomBytes(9_000_001);
  await blob.uploadData(data, { blockSize: 1 << 20, concurrency: 4, maxSingleShotSize: 1 << 20 });
  assert.equal((await blob.getBlockList('committed')).committedBlocks.length, 9);
  const back = await blob.downloadToBuffer(0, undefined, { blockSize: 700_000, concurrency: 4 });
  assert.deepEqual(md5(back), md5(data));
  await blob.uploadStream(Readable.from([data.subarray(0, 3_000_000), data.subarray(3_000_000)]), 1 << 20, 3);
  assert.deepEqual(md5(await blob.downloadToBuffer()), md5(data));
});

test('a name may be nearly anything', async () => {
  const container = await azure.newContainer();
  const names = [
    'a//b', 'with space', 'plus+sign', '100%', 'per%2Fcent', 'q?x=1&y=2', 'hash#1', 'naïve/日本語/🎈',
    "it's (fine)!", 'semi;colon:and@at', 'dots...', 'x'.repeat(1024),
  ];
  for (const name of names) await azure.newBlob(container, name, name);
  for (const name of names) assert.equal(await azure.read(container.getBlobClient(name)), name);
  const listed = (await azure.collect(container.listBlobsFlat())).map((b) => b.name);
  assert.deepEqual(new Set(listed), new Set(names));
  await assert.rejects(azure.newBlob(container, 'x'.repeat(1025)), { statusCode: 400 });
});

test('tags are kept, found, and a condition', async () => {
  const container = await azure.newContainer();
  const label = azure.uniqueName('t');
  const blob = await azure.newBlob(container, 'tagged', 'x', { tags: { label, kind: 'old' } });
  await azure.newBlob(container, 'plain', 'x');
  assert.equal((await blob.getProperties()).tagCount, 2);
  await blob.setTags({ label, kind: 'new' });
  assert.deepEqual((await blob.getTags()).tags, { label, kind: 'new' });
  const found = await azure.collect(azure.service.findBlobsByTags(`label='${label}' AND kind='new'`));
  assert.deepEqual(found.map((b) => [b.containerName, b.name]), [[container.containerName, 'tagged']]);
  assert.deepEqual(await azure.collect(azure.service.findBlobsByTags(`label='${label}' AND kind='old'`)), []);
  await refused(blob.download(0, undefined, { conditions: { tagConditions: "kind='old'" } }), 412, 'ConditionNotMet');
  assert.equal(await azure.read(blob, 0, undefined, { conditions: { tagConditions: "kind='new'" } }), 'x');
});

test('a tier is kept, and an archived blob is not read', async () => {
  const blob = await azure.newBlob(await azure.newContainer(), 'a', 'x');
  assert.equal((await blob.getProperties()).accessTier, 'Hot');
  await blob.setAccessTier('Cool');
  assert.equal((await blob.getProperties()).accessTier, 'Cool');
  await blob.setAccessTier('Archive');
  await refused(blob.download(), 409, 'BlobArchived');
});
