package uimessage

import "testing"

var benchDelta = Chunk{Type: "text-delta", ID: "txt-0", Delta: " some twenty letters"}

func BenchmarkAppendTextDelta(b *testing.B) {
	b.ReportAllocs()
	buf := make([]byte, 0, 256)
	for b.Loop() {
		buf = benchDelta.AppendJSON(buf[:0])
	}
}

func BenchmarkGuardAdmitTextDelta(b *testing.B) {
	b.ReportAllocs()
	g := NewGuard(Message{ID: "m"}, false)
	for _, c := range []Chunk{g.Start(), {Type: "start-step"}, {Type: "text-start", ID: "txt-0"}} {
		if _, _, err := g.Admit(c); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, drop, err := g.Admit(benchDelta); drop || err != nil {
			b.Fatal(drop, err)
		}
	}
}

func BenchmarkGuardPassTextDelta(b *testing.B) {
	b.ReportAllocs()
	g := NewGuard(Message{ID: "m"}, false)
	buf, err := g.Pass(make([]Chunk, 0, 4), Chunk{Type: "text-start", ID: "txt-0"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if buf, err = g.Pass(buf[:0], benchDelta); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFoldDeltaRun(b *testing.B) {
	b.ReportAllocs()
	f := NewFold(Message{ID: "m"})
	f.Apply(Chunk{Type: "text-start", ID: "txt-0"})
	run := ""
	for range 20 {
		run += benchDelta.Delta
	}
	b.SetBytes(int64(len(run)))
	for n := 0; b.Loop(); n++ {
		if n%100 == 0 { // a message of 40 KB, then the next one
			f = NewFold(Message{ID: "m"})
		}
		f.Delta("text-delta", "txt-0", run)
	}
}

func BenchmarkFoldApplyTextDelta(b *testing.B) {
	b.ReportAllocs()
	f := NewFold(Message{ID: "m"})
	for n := 0; b.Loop(); n++ {
		if n%10000 == 0 {
			f = NewFold(Message{ID: "m"})
		}
		f.Apply(benchDelta)
	}
}

func BenchmarkParseTextDelta(b *testing.B) {
	b.ReportAllocs()
	data := benchDelta.AppendJSON(nil)
	for b.Loop() {
		if _, err := ParseChunk(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseMessage(b *testing.B) {
	b.ReportAllocs()
	data := []byte(approvedBase)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ParseMessage(data); err != nil {
			b.Fatal(err)
		}
	}
}
