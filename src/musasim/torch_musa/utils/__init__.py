"""Place of the extension builder and the porting tools, which have no simulated counterpart here."""
