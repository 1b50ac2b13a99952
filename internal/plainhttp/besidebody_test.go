package plainhttp

import (
	"fmt"
	"strings"
)

// framed is a POST with the given framing headers and bytes.
func framed(bytes string, lines ...string) string { return request("POST", "/echo", bytes, lines...) }

var lengthCases = []besideCase{
	{name: "a length twice", send: framed("hello", "Content-Length: 5", "Content-Length: 5"), want: "200 after"},
	{name: "two lengths", send: framed("hello", "Content-Length: 5", "Content-Length: 4"), want: "400"},
	{name: "two lengths in one", send: framed("hello", "Content-Length: 5, 5"), want: "400"},
	{name: "a negative length", send: framed("hello", "Content-Length: -5"), want: "400"},
	{name: "a length with a plus", send: framed("hello", "Content-Length: +5"), want: "400"},
	{name: "a length with spaces around", send: framed("hello", "Content-Length: \t 5 \t"), want: "200 after"},
	{name: "a length with spaces inside", send: framed("hello", "Content-Length: 5 5"), want: "400"},
	{name: "a length in hex", send: framed("hello", "Content-Length: 0x5"), want: "400"},
	{name: "a length with underscores", send: framed("hello", "Content-Length: 0_5"), want: "400"},
	{name: "a length with zeros", send: framed("hello", "Content-Length: 005"), want: "200 after"},
	{name: "an empty length", send: framed("", "Content-Length:"), want: "400"},
	{name: "a huge length", send: framed("hello", "Content-Length: 99999999999999999999"), want: "400"},
	{name: "the largest length", send: framed("hello", "Content-Length: 9223372036854775807"), cut: true, want: "200"},
	{name: "a length of 0", send: framed("", "Content-Length: 0"), want: "200 after"},
	{name: "a length with a space before the colon", send: framed("", "Content-Length : 5"), want: "400"},
	{name: "a second length with a space before the colon", send: framed("hello", "Content-Length: 5", "Content-Length : 0"), want: "400"},
	{name: "a length with a tab before the colon", send: framed("", "Content-Length\t: 5"), want: "400"},
	{name: "a length that is too short", send: framed("hello", "Content-Length: 3"), want: "200 after"}, // of the method loGET
}

const end = "0\r\n\r\n"

var codingCases = []besideCase{
	{name: "chunked", send: framed(end, "Transfer-Encoding: chunked"), want: "200 after"},
	{name: "Chunked", send: framed(end, "Transfer-Encoding: Chunked"), want: "200 after"},
	{name: "chunked with spaces around", send: framed(end, "Transfer-Encoding: \t chunked \t"), want: "200 after"},
	{name: "chunked in a fold", send: framed(end, "Transfer-Encoding:", " chunked"), want: "200 after"},
	{name: "chunked, chunked", send: framed(end, "Transfer-Encoding: chunked, chunked"), want: "400", theirs: "501", differs: codingWas},
	{name: "chunked twice", send: framed(end, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), want: "400", theirs: "501", differs: codingWas},
	{name: "chunked and identity", send: framed(end, "Transfer-Encoding: chunked", "Transfer-Encoding: identity"), want: "400", theirs: "501", differs: codingWas},
	{name: "identity", send: framed("", "Transfer-Encoding: identity"), want: "400", theirs: "501", differs: codingWas},
	{name: "gzip, chunked", send: framed(end, "Transfer-Encoding: gzip, chunked"), want: "400", theirs: "501", differs: codingWas},
	{name: "xchunked", send: framed(end, "Transfer-Encoding: xchunked"), want: "400", theirs: "501", differs: codingWas},
	{name: "chunked with a parameter", send: framed(end, "Transfer-Encoding: chunked;q=1"), want: "400", theirs: "501", differs: codingWas},
	{name: "quoted", send: framed(end, `Transfer-Encoding: "chunked"`), want: "400", theirs: "501", differs: codingWas},
	{name: "empty", send: framed("", "Transfer-Encoding:"), want: "400", theirs: "501", differs: codingWas},
	{name: "vertical tab", send: framed(end, "Transfer-Encoding: \x0bchunked"), want: "400"},
	{name: "a Kelvin sign", send: framed(end, "Transfer-Encoding: chun\u212aed"), want: "400", theirs: "501", differs: codingWas},
	{name: "space before the colon", send: framed(end, "Transfer-Encoding : chunked"), want: "400"},
	{name: "space before the colon, beside a length", send: framed(end, "Transfer-Encoding : chunked", "Content-Length: 5"), want: "400"},
	{name: "tab before the colon", send: framed(end, "Transfer-Encoding\t: chunked"), want: "400"},
	{name: "in the name of another", send: framed("", "X-Transfer-Encoding: chunked"), want: "200 after"},
	{name: "with a length", send: framed("2\r\nhi\r\n"+end, "Transfer-Encoding: chunked", "Content-Length: 3"), want: "200 after"},
	{name: "after a length", send: framed("2\r\nhi\r\n"+end, "Content-Length: 3", "Transfer-Encoding: chunked"), want: "200 after"},
	{name: "with a bad length", send: framed(end, "Transfer-Encoding: chunked", "Content-Length: x"), want: "400"},
	{name: "unknown, with a length", send: framed("hello", "Transfer-Encoding: x", "Content-Length: 5"), want: "400", theirs: "501", differs: codingWas},
	{name: "get in chunks", send: request("GET", "/echo", "2\r\nhi\r\n"+end, "Transfer-Encoding: chunked"), want: "200 after"},
}

var chunkCases = []besideCase{
	{name: "chunks", send: chunked("/echo", "5\r\nhello\r\n6\r\n world\r\n"+end), want: "200 after"},
	{name: "chunks, ignored", send: chunked("/ignore", "5\r\nhello\r\n6\r\n world\r\n"+end), want: "200 after"},
	{name: "chunks, read in part", send: chunked("/part", "5\r\nhello\r\n6\r\n world\r\n"+end), want: "200 after"},
	{name: "a size with zeros", send: chunked("/echo", "0005\r\nhello\r\n"+end), want: "200 after"},
	{name: "a size in capitals", send: chunked("/echo", "A\r\n0123456789\r\n"+end), want: "200 after"},
	{name: "a size with 0x", send: chunked("/echo", "0x5\r\nhello\r\n"+end), want: "200"},
	{name: "a size with a sign", send: chunked("/echo", "+5\r\nhello\r\n"+end), want: "200"},
	{name: "a size with a space", send: chunked("/echo", "5 \r\nhello\r\n"+end), want: "200 after"},
	{name: "a size after a space", send: chunked("/echo", " 5\r\nhello\r\n"+end), want: "200"},
	{name: "an empty size", send: chunked("/echo", "\r\nhello\r\n"+end), want: "200"},
	{name: "a size that overflows", send: chunked("/echo", "ffffffffffffffff5\r\nhello\r\n"+end), want: "200"},
	{name: "no size", send: chunked("/echo", "hello\r\n"+end), want: "200"},
	{name: "no size, ignored", send: chunked("/ignore", "hello\r\n"+end), want: "200"},
	{name: "a size without carriage return", send: chunked("/echo", "5\nhello\r\n"+end), want: "200"},
	{name: "a chunk without carriage return", send: chunked("/echo", "5\r\nhello\n"+end), want: "200"},
	{name: "a chunk that is too long", send: chunked("/echo", "5\r\nhello!\r\n"+end), want: "200"},
	{name: "an extension", send: chunked("/echo", "5;a=b\r\nhello\r\n0;c\r\n\r\n"), want: "200 after"},
	{name: "an extension with a line feed", send: chunked("/echo", "5;a\nb\r\nhello\r\n"+end), want: "200"},
	{name: "an extension with a carriage return", send: chunked("/echo", "5;a\rb\r\nhello\r\n"+end), want: "200"},
	{name: "far too long an extension", send: chunked("/echo", "5;"+strings.Repeat("x", 2*bufferSize)+"\r\nhello\r\n"+end), want: "200"},
	{name: "a trailer", send: chunked("/echo", "2\r\nhi\r\n0\r\nX-T: u\r\n\r\n", "Trailer: X-T"), want: "200 after"},
	{name: "a trailer that was not announced", send: chunked("/echo", "0\r\nX-T: u\r\n\r\n"), want: "200 after"},
	{name: "a forbidden trailer", send: chunked("/echo", end, "Trailer: Content-Length"), want: "400"},
	{name: "a trailer without chunks", send: post("/echo", "hi", "Trailer: X-T"), want: "200 after"},
	{name: "a bad trailer", send: chunked("/echo", "0\r\nX T\r\n\r\n"), want: "200"},
	{name: "a trailer with a space before the colon", send: chunked("/echo", "0\r\nX-T : u\r\n\r\n"), want: "200 after"},
	{name: "a trailer without end", send: chunked("/echo", "0\r\nX-T: u\r\n"), cut: true, want: "200"},
	{name: "a trailer with line feeds", send: chunked("/echo", "0\r\nX-T: u\n\n"), want: "200 after"},
	{name: "far too long a trailer", send: chunked("/echo", "0\r\nX-T: "+strings.Repeat("x", 2*bufferSize)+"\r\n\r\n"), want: "200"},
	{name: "an end without its line", send: chunked("/echo", "2\r\nhi\r\n0\r\n"), cut: true, want: "200"},
	{name: "chunks without end", send: chunked("/echo", "2\r\nhi\r\n"), cut: true, want: "200"},
	{name: "half a chunk", send: chunked("/echo", "5\r\nhe"), cut: true, want: "200"},
	{name: "half a chunk, ignored", send: chunked("/ignore", "5\r\nhe"), cut: true, want: "200"},
	{name: "half a size", send: chunked("/echo", "5"), cut: true, want: "200"},
	{name: "no chunk at all", send: chunked("/echo", ""), cut: true, want: "200"},
	{name: "chunks after which bytes follow", send: chunked("/echo", end+"x"), want: "200 after"}, // of the method xGET
}

const drained = 256 << 10

func manyChunks(n int) string {
	const size = 1000
	return strings.Repeat(fmt.Sprintf("%x\r\n%s\r\n", size, strings.Repeat("c", size)), n/size) + end
}

var bodyCases = []besideCase{
	{name: "a small body, ignored", send: post("/ignore", "hello"), want: "200 after"},
	{name: "a small body, read in part", send: post("/part", "hello"), want: "200 after"},
	{name: "a small body, read to the last byte", send: post("/exact", "hello"), want: "200 after"},
	{name: "a small body, closed", send: post("/closebody", "hello"), want: "200 after"},
	{name: "a small body, read late", send: post("/late", "hello"), want: "200 after"},
	{name: "chunks, read late", send: chunked("/late", "5\r\nhello\r\n"+end), want: "200 after"},
	{name: "a large body, read", send: post("/echo", strings.Repeat("l", drained+10)), want: "200 after"},
	{name: "a body below the limit, ignored", send: post("/ignore", strings.Repeat("l", drained-1)), want: "200 after"},
	{name: "a body just the limit, ignored", send: post("/ignore", strings.Repeat("l", drained)), want: "200 after", theirs: "200",
		differs: "a limit is meant inclusively here"},
	{name: "a body above the limit, ignored", send: post("/ignore", strings.Repeat("l", drained+1)), want: "200"},
	{name: "a body above the limit, of which less is left", send: post("/part", strings.Repeat("l", drained+1)), want: "200 after"},
	{name: "a body far above the limit, read in part", send: post("/part", strings.Repeat("l", 2*drained)), want: "200"},
	{name: "chunks below the limit, ignored", send: chunked("/ignore", manyChunks(drained-1000)), want: "200 after"},
	{name: "chunks above the limit, ignored", send: chunked("/ignore", manyChunks(drained+1000)), want: "200"},
	{name: "a large body, ignored, closing", send: post("/ignore", strings.Repeat("l", 2*drained), "Connection: close"), want: "200"},
	{name: "a truncated body", send: framed("hell", "Content-Length: 5"), cut: true, want: "200", differs: frank},
	{name: "a truncated body, ignored", send: request("POST", "/ignore", "hell", "Content-Length: 5"), cut: true, want: "200"},
	{name: "a truncated body, read in part", send: request("POST", "/part", "hell", "Content-Length: 5"), cut: true, want: "200"},
	{name: "a body that never comes", send: framed("", "Content-Length: 5"), cut: true, want: "200", differs: frank},
}

var answerCases = []besideCase{
	{name: "204", send: get("/204"), want: "204 after"},
	{name: "304", send: get("/304"), want: "304 after"},
	{name: "404", send: get("/404"), want: "404 after"},
	{name: "299", send: get("/299"), want: "299 after"},
	{name: "99", send: get("/99"), want: ""},
	{name: "head of 204", send: request("HEAD", "/204", ""), want: "204 after"},
	{name: "head of 304", send: request("HEAD", "/304", ""), want: "304 after"},
	{name: "head of 404", send: request("HEAD", "/404", ""), want: "404 after"},
	{name: "head of nothing", send: request("HEAD", "/nothing", ""), want: "200 after"},
	{name: "head of a stream", send: request("HEAD", "/stream", ""), want: "200 after",
		differs: "net/http counts what was written, as it does for other answers; " + sized},
	{name: "head of something bare", send: request("HEAD", "/bare", ""), want: "404 after"},
	{name: "head with a body", send: request("HEAD", "/ignore", "hello", "Content-Length: 5"), want: "200 after"},
	{name: "head of too much", send: request("HEAD", "/long", ""), want: "200 after"},
	{name: "head of too little", send: request("HEAD", "/short", ""), want: "200 after"},
	{name: "less than announced", send: get("/short"), want: "200!"},
	{name: "more than announced", send: get("/long"), want: "200!"},
	{name: "more after what was announced", send: get("/overrun"), want: "200 after", theirs: "200",
		differs: "the client has all that was announced"},
	{name: "much", send: get("/big"), want: "200 after"},
	{name: "a panic", send: get("/panic"), want: ""},
	{name: "a panic with a body", send: post("/panic", "hello"), want: ""},
	{name: "an abort", send: get("/abort"), want: ""},
	{name: "a panic half way", send: get("/fall"), want: "200!"},
	{name: "flush", send: get("/flush"), want: "200 after"},
	{name: "flush with a body", send: post("/flush", "hello"), want: "200 after"},
	{name: "flush as a flusher", send: get("/flusher"), want: "200 after"},
	{name: "values with line breaks", send: get("/lines"), want: "200 after"},
	{name: "invalid names", send: get("/names"), want: "200 after"},
	{name: "close by the handler", send: get("/close"), want: "200"},
	{name: "close by both", send: get("/close", "Connection: close"), want: "200"},
	{name: "keep-alive by the handler", send: get("/keep"), want: "200 after", differs: wording},
	{name: "nothing at all", send: get("/nothing"), want: "200 after"},
	{name: "nothing at all, with a body", send: post("/nothing", "hello"), want: "200 after"},
	{name: "two statuses", send: get("/twice"), want: "201 after"},
	{name: "a transfer encoding by the handler", send: get("/coding"), want: "200 after",
		differs: "nothing is chunked here, and the length is right"},
	{name: "no type", send: get("/untyped"), want: "200 after", differs: "a type is not guessed here"},
	{name: "a status alone", send: get("/bare"), want: "404", theirs: "404 after", differs: sized},
	{name: "a stream", send: get("/stream"), want: "200", theirs: "200 after", differs: sized},
	{name: "no number as length", send: get("/badlength"), want: "200", theirs: "200 after", differs: sized},
	{name: "no number as length, with 1.0", send: raw("GET /badlength HTTP/1.0"), want: "200", theirs: "0", differs: "net/http passes it on"},
	{name: "no date", send: get("/dateless"), want: "200 after"},
	{name: "headers that come late", send: get("/after-all"), want: "200 after"},
}
