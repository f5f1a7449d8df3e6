"""Who was in a set at a past instant: temporal hashing after Kollios and Tsotras."""
